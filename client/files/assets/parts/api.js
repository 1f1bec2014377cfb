// @ts-check
// Requests to the share. All that send one throw {@link ApiError}.

/**
 * What the listing tells of a file or folder. In what a search found, `name` is the path below the folder.
 * @typedef {{ name: string, kind: "file" | "folder", size: number, modified: number }} Entry
 *
 * What the share tells of itself; `maxUpload` in bytes, null for no limit.
 * @typedef {{ name: string, writable: boolean, protected: boolean, maxUpload: number | null }} Share
 *
 * Names of a way below the share, outermost first.
 * @typedef {readonly string[]} Names
 *
 * @typedef {{ matches: Entry[], isPartial: boolean }} Found
 *
 * Something in the trash of the share: where it was, and when it was deleted in milliseconds since the epoch.
 * @typedef {{ id: string, path: string, kind: "file" | "folder", size: number, deleted: number }} Trashed
 */

/** A refusal by the share, or a network that failed (status 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * Escaped path of a folder (with a slash at the end) or file from names.
 * @param {Names} names
 * @param {boolean} isFolder
 */
export function toPath(names, isFolder) {
  const path = names.map((name) => "/" + encodeURIComponent(name)).join("");
  return isFolder ? path + "/" : path;
}

/**
 * Names of an escaped path. A malformed escape is taken as it is: such a path leads nowhere.
 * @param {string} path
 */
export function toNames(path) {
  return path.split("/").filter((part) => part !== "").map(decode);
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The hash that stands for a name.
 * @param {string} name
 */
export function toHash(name) {
  return `#${encodeURIComponent(name)}`;
}

/**
 * The name in a hash, "" when there is none. What is not escaped properly was typed in and is taken as it is.
 * @param {string} hash
 */
export function readHash(hash) {
  return decode(hash.slice(1));
}

/**
 * Entries of a folder.
 * @param {Names} names
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ entries: Entry[] }>}
 */
export async function fetchFolder(names, signal) {
  return await (await send("GET", toPath(names, true), { signal })).json();
}

/**
 * What is found below a folder.
 * @param {Names} names
 * @param {string} query
 * @param {AbortSignal} [signal]
 * @returns {Promise<Found>}
 */
export async function fetchSearch(names, query, signal) {
  return await (await send("GET", `${toPath(names, true)}?search=${encodeURIComponent(query)}`, { signal })).json();
}

/**
 * @param {Names} names
 * @param {AbortSignal} [signal]
 */
export async function requestFolder(names, signal) {
  await send("POST", `${toPath(names, true)}?mkdir`, { signal });
}

/**
 * Moves or renames; with `isReplacing` over a file that is there.
 * @param {Names} from
 * @param {Names} to
 * @param {{ isReplacing?: boolean, signal?: AbortSignal }} [options]
 */
export async function requestMove(from, to, { isReplacing = false, signal } = {}) {
  const destination = encodeURIComponent("/" + to.join("/"));
  await send("POST", `${toPath(from, false)}?move=${destination}${isReplacing ? "&overwrite" : ""}`, { signal });
}

/**
 * Deletes for good.
 * @param {Names} names
 */
export async function requestRemoval(names) {
  await send("DELETE", toPath(names, false), {});
}

/**
 * Puts something into the trash of the share and returns the id that it is restored by. Throws with code `no_trash`
 * what can only be deleted for good.
 * @param {Names} names
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>}
 */
export async function trashEntry(names, signal) {
  return (await (await send("POST", `${toPath(names, false)}?trash`, { signal })).json()).id;
}

/**
 * What is in the trash, the latest first.
 * @returns {Promise<Trashed[]>}
 */
export async function fetchTrash() {
  return (await (await send("GET", "/?trash", {})).json()).items;
}

/**
 * Puts something from the trash back where it was, under another name when its own is taken by now; returns its path.
 * @param {string} id
 * @returns {Promise<string>}
 */
export async function restoreEntry(id) {
  return (await (await send("POST", `/?restore=${encodeURIComponent(id)}`, {})).json()).path;
}

/** Deletes all that is in the trash for good. */
export async function emptyTrash() {
  await send("DELETE", "/?trash", {});
}

/** Ends the session of a share with a passphrase. */
export async function signOut() {
  await send("POST", "?logout", {});
}

/**
 * Sends a request and throws ApiError for anything but success.
 * @param {string} method
 * @param {string} path
 * @param {{ signal?: AbortSignal, headers?: Record<string, string> }} options
 */
export async function send(method, path, options) {
  const headers = { accept: "application/json", "x-portway-page": "1", ...options.headers };
  const response = await fetch(path, { method, ...options, headers }).catch((error) => {
    if (isAbort(error)) throw error;
    throw new ApiError(0, "network", "The share cannot be reached.");
  });
  if (!response.ok) {
    throw toApiError(response.status, await response.text().catch(() => ""), response.headers.get("portway-error"));
  }
  return response;
}

/**
 * The error that an answer of the share stands for.
 * @param {number} status
 * @param {string} body
 * @param {string | null} code of the header
 */
export function toApiError(status, body, code) {
  const { error, message } = parseBody(body);
  return new ApiError(
    status,
    error?.code ?? code ?? "",
    error?.message ?? message ?? `The share answered ${status}.`,
  );
}

/**
 * @param {string} text
 * @returns {{ error?: { code?: string, message?: string }, message?: string }}
 */
function parseBody(text) {
  try {
    return JSON.parse(text);
  } catch {
    // An answer from someone on the way: what its status says has to do.
    return {};
  }
}

/**
 * Whether something ended because it was no longer wanted.
 * @param {unknown} error
 */
export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * The code of a refusal, "" for anything else.
 * @param {unknown} error
 */
export function getCode(error) {
  return error instanceof ApiError ? error.code : "";
}

/**
 * What to tell of an error.
 * @param {unknown} error
 */
export function tellFailure(error) {
  return error instanceof Error ? error.message : String(error);
}
