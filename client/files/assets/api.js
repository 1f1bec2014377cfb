// Requests to the share.

/** A refusal by the share, or a network that failed (status 0). */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Escaped path of a folder (with a slash at the end) or file from names. */
export function toPath(names, isFolder) {
  const path = names.map((name) => "/" + encodeURIComponent(name)).join("");
  return isFolder ? path + "/" : path;
}

/** Names of the path in the address bar. */
export function readLocation() {
  return location.pathname.split("/").filter((part) => part !== "").map(decodeURIComponent);
}

/** The hash that stands for a name. */
export function toHash(name) {
  return `#${encodeURIComponent(name)}`;
}

/** The name in the hash, "" when there is none. What is not escaped properly was typed in and is taken as it is. */
export function readHash() {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Facts and entries of a folder. */
export async function fetchFolder(names, signal) {
  return await (await send("GET", toPath(names, true), { signal })).json();
}

/** What is found below a folder. */
export async function fetchSearch(names, query, signal) {
  return await (await send("GET", `${toPath(names, true)}?search=${encodeURIComponent(query)}`, { signal })).json();
}

export async function makeFolder(names, signal) {
  await send("POST", `${toPath(names, true)}?mkdir`, { signal });
}

export async function moveEntry(from, to) {
  await send("POST", `${toPath(from, false)}?move=${encodeURIComponent("/" + to.join("/"))}`);
}

export async function removeEntry(names) {
  await send("DELETE", toPath(names, false));
}

/** Ends the session of a share with a passphrase. */
export async function signOut() {
  await send("POST", "?logout");
}

/** Sends a request and throws ApiError for anything but success. */
export async function send(method, path, options = {}) {
  const headers = { accept: "application/json", "x-portway-page": "1", ...options.headers };
  let response;
  try {
    response = await fetch(path, { method, ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "network", "The share cannot be reached.");
  }
  if (!response.ok) throw await readError(response);
  return response;
}

async function readError(response) {
  const body = await response.json().catch(() => ({}));
  const code = body.error?.code ?? response.headers.get("portway-error") ?? "";
  const message = body.error?.message ?? body.message ?? `The share answered ${response.status}.`;
  return new ApiError(response.status, code, message);
}
