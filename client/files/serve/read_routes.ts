import type { FetchInfo } from "../../../common/fetch_target.ts";
import { answerFile, codeAnswer, createEntityTag, getMediaType, withoutBody } from "../../../common/file_http/mod.ts";
import { notFound } from "../disk/fs_error.ts";
import { createHotFiles } from "./hot_files.ts";
import type { ListedEntry, ListingCache } from "./listing.ts";
import { renderFolderPage, type ShareFacts } from "../page/page.ts";
import type { Folder, OpenFile, Root } from "../disk/root.ts";
import { hashFile } from "./hash_file.ts";
import { sortEntries } from "./sort_entries.ts";
import { searchNames } from "./search.ts";
import { serializePath, type TargetPath } from "../disk/target_path.ts";
import { renderPlainPage } from "../page/plain_page.ts";
import { streamTar } from "../archive/tar.ts";
import { streamZip } from "../archive/zip.ts";

export interface ReadRoutesOptions {
  root: Root;
  listings: ListingCache;
  facts: ShareFacts;
}

/** Answers GET and HEAD below the share. */
export type ReadRoutes = (request: Request, path: TargetPath, info: FetchInfo) => Promise<Response>;

/**
 * What keeps a file of the share from acting as a page of the share: no script, an origin of its own.
 * Chromium shows no PDF in a sandbox; its viewer runs nothing of the file on our origin.
 */
const SHUT_IN = "default-src 'none'; img-src 'self' data:; media-src 'self'; font-src 'self' data:; " +
  "style-src 'self' 'unsafe-inline'; frame-ancestors 'self'";
const FILE_POLICY = `sandbox; ${SHUT_IN}`;
const PDF_POLICY = `${SHUT_IN}; object-src 'self'`;

export function createReadRoutes({ root, listings, facts }: ReadRoutesOptions): ReadRoutes {
  const caching = facts.protected ? "private, no-cache" : "no-cache";

  const openHot = createHotFiles(root);

  async function answer(request: Request, path: TargetPath, info: FetchInfo): Promise<Response> {
    const opened = openHot(path.segments);
    if (opened.kind === "file") {
      if (path.isFolder) {
        opened.close();
        throw notFound();
      }
      const isTold = path.query.has("json") || path.query.has("hash");
      if (isTold) return await answerTold(request, await tellOfFile(request, path, opened));
      return sendFile(request, path, opened, info.isDirect);
    }
    try {
      return await answerOpened(request, path, opened);
    } finally {
      opened.close();
    }
  }

  async function answerOpened(request: Request, path: TargetPath, folder: Folder): Promise<Response> {
    const response = await answerFolder(request, path, folder);
    // How long an archive becomes is not known before it has been made, and it is no text.
    return findArchiveKind(path.query) === null ? await answerTold(request, response) : response;
  }

  function sendFile(request: Request, path: TargetPath, file: OpenFile, isDirect = false): Response {
    const name = path.segments[path.segments.length - 1];
    const headers: Record<string, string> = {
      "cache-control": caching,
      "content-security-policy": /\.pdf$/i.test(name) ? PDF_POLICY : FILE_POLICY,
    };
    if (path.query.has("download")) headers["content-disposition"] = describeDisposition("attachment", name);
    // Whoever saves a file saves it under its name; an address that spells it out has said so already.
    else if (!/^[\w.-]+$/.test(name)) headers["content-disposition"] = describeDisposition("inline", name);
    return answerFile(request, file, { name, headers, compress: true, isDirect });
  }

  /** Sends what was made for this visitor, coded where that is worth it. */
  async function answerTold({ method, headers }: Request, told: Response): Promise<Response> {
    const response = await codeAnswer(headers.get("accept-encoding"), told);
    return method === "HEAD" ? await withoutBody(response) : response;
  }

  /** What is known of a file, or its hash alone. */
  async function tellOfFile({ method, signal }: Request, path: TargetPath, file: OpenFile): Promise<Response> {
    try {
      const name = path.segments[path.segments.length - 1];
      if (path.query.has("hash")) {
        // For HEAD the length is enough, which is always the same.
        const hash = method === "HEAD" ? "0".repeat(64) : await hashFile(file, signal);
        return sendListing(`${hash}\n`, "text/plain; charset=utf-8");
      }
      const { size, mtimeMs } = file.stat;
      const entry: ListedEntry = { name, kind: "file", size, modified: Math.trunc(mtimeMs) };
      return sendJson(JSON.stringify({ ...entry, type: getMediaType(name), etag: createEntityTag(file.stat) }));
    } finally {
      file.close();
    }
  }

  async function answerFolder(request: Request, path: TargetPath, folder: Folder): Promise<Response> {
    if (!path.isFolder) return redirectToFolder(path);
    const { query, segments } = path;
    const archive = findArchiveKind(query);
    if (archive !== null) {
      return sendArchive(request, root, segments, {
        kind: archive,
        shareName: facts.name,
        names: query.getAll("name"),
      });
    }
    const format = chooseFormat(request, query);
    // `q` and `noscript` are what dufs calls them, so that its scripts go on working.
    const search = query.get("search") ?? query.get("q");
    if (search !== null) return await answerSearch(request, path, search, format);
    const listing = await listings.listJson(folder);
    if (format === "html") return renderFolderPage(facts, sortJson(listing, query));
    if (format === "json") return sendJson(`{"share":${JSON.stringify(facts)},"entries":${sortJson(listing, query)}}`);
    const entries = sortEntries(JSON.parse(listing), query);
    if (format === "text") return sendNames(entries);
    return renderPlainPage({ facts, segments, entries, isSortable: query.has("plain") });
  }

  async function answerSearch(
    { signal }: Request,
    { segments, query }: TargetPath,
    search: string,
    format: Format,
  ): Promise<Response> {
    const { matches, isPartial } = await searchNames(root, segments, { query: search, signal });
    const entries = sortEntries(matches, query);
    if (query.has("simple")) return sendNames(entries);
    if (format === "html") return renderFolderPage(facts, JSON.stringify(entries), isPartial);
    if (format === "plain") return renderPlainPage({ facts, segments, entries, isSortable: false });
    return sendJson(JSON.stringify({ matches: entries, isPartial }));
  }

  return answer;
}

/** The archive that a query asks for. */
export function findArchiveKind(query: URLSearchParams): ArchiveKind | null {
  if (query.has("zip")) return "zip";
  return query.has("tar") ? "tar" : null;
}

export type ArchiveKind = "zip" | "tar";

const ARCHIVES = {
  zip: { type: "application/zip", stream: streamZip },
  tar: { type: "application/x-tar", stream: streamTar },
};

export interface SendArchiveOptions {
  kind: ArchiveKind;
  /** What the archive of the whole share is named after. */
  shareName: string;
  /** Names in the folder to take; all of it when empty. */
  names: readonly string[];
}

/** Sends an archive of `names` in a folder, or of all of it. */
export function sendArchive(
  request: Request,
  root: Root,
  segments: readonly string[],
  { kind, shareName, names }: SendArchiveOptions,
): Response {
  const { type, stream } = ARCHIVES[kind];
  // For HEAD an empty stream: listeners take no body for a length of 0.
  const body = request.method === "HEAD"
    ? new Blob().stream()
    : stream(root, segments, { names, signal: request.signal });
  const base = names.length === 1 ? names[0] : segments.at(-1) ?? shareName;
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-disposition": describeDisposition("attachment", `${base}.${kind}`),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}

function redirectToFolder({ segments, query }: TargetPath): Response {
  const search = query.size === 0 ? "" : `?${query}`;
  return new Response(null, {
    status: 307,
    headers: { location: serializePath(segments, true) + search, "cache-control": "no-store" },
  });
}

type Format = "html" | "plain" | "json" | "text";

/** Programs that follow links and run no script. They take anything and would be given names that lead nowhere. */
const LINK_FOLLOWERS = /^(?:wget|httrack|lynx|links|elinks|w3m)\b/i;

/** A page for browsers, JSON for programs that ask for it, plain names for everyone else. */
function chooseFormat(request: Request, query: URLSearchParams): Format {
  if (query.has("json")) return "json";
  if (query.has("simple")) return "text";
  if (query.has("plain") || query.has("noscript") || LINK_FOLLOWERS.test(request.headers.get("user-agent") ?? "")) {
    return "plain";
  }
  const accept = request.headers.get("accept") ?? "";
  if (accept.includes("text/html")) return "html";
  return accept.includes("application/json") ? "json" : "text";
}

/** The entries of a listing in the order that is asked for. */
function sortJson(listing: string, query: URLSearchParams): string {
  return query.has("sort") ? JSON.stringify(sortEntries(JSON.parse(listing), query)) : listing;
}

const LISTING_HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "vary": "accept, cookie, user-agent",
};

function sendJson(json: string): Response {
  return sendListing(json + "\n", "application/json");
}

function sendListing(text: string, type: string): Response {
  const bytes = new TextEncoder().encode(text);
  const headers = { ...LISTING_HEADERS, "content-type": type, "content-length": String(bytes.length) };
  return new Response(bytes, { headers });
}

/** What would break a line or control the terminal that it is read in. */
// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;

/** One name a line, with a slash behind folders. */
function sendNames(entries: readonly ListedEntry[]): Response {
  const text = entries.map(({ name, kind }) => `${name.replace(CONTROLS, "?")}${kind === "folder" ? "/" : ""}\n`).join(
    "",
  );
  return sendListing(text, "text/plain; charset=utf-8");
}

/** RFC 6266: a plain name for everyone, and where it differs the true one in UTF-8. */
function describeDisposition(kind: "attachment" | "inline", name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return plain === name ? `${kind}; filename="${plain}"` : `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
