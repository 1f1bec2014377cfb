import path from "node:path";
import { getStamp } from "../disk/stamp.ts";
import type { FetchInfo } from "../../../common/fetch_target.ts";
import {
  answerFile,
  codeAnswer,
  createEntityTag,
  getMediaType,
  readBytes,
  withoutBody,
} from "../../../net/file_http/mod.ts";
import { noSuchEntry } from "../disk/fs_error.ts";
import type { ListedEntry, ListingCache } from "./listing.ts";
import { renderFolderPage, type ShareFacts } from "../page/page.ts";
import type { Folder, OpenFile, Root } from "../disk/root.ts";
import { hashFile } from "./hash_file.ts";
import { sortEntries } from "./sort_entries.ts";
import { searchNames } from "./search.ts";
import { serializePath, type SharePath } from "../disk/share_path.ts";
import { renderPlainPage } from "../page/plain_page.ts";
import { findArchiveKind, sendArchive } from "../archive/send_archive.ts";
import { describeDisposition } from "./disposition.ts";

/** Shared state for the read-only routes. */
export interface ReadRoutesOptions {
  root: Root;
  listings: ListingCache;
  facts: ShareFacts;
}

/**
 * Prevents shared files from acting as pages of this origin: no scripts and an opaque origin. Chromium shows no PDF in
 * a sandbox, and its viewer runs no code from the file on this origin.
 */
const SHUT_IN = "default-src 'none'; img-src 'self' data:; media-src 'self'; font-src 'self' data:; " +
  "style-src 'self' 'unsafe-inline'; frame-ancestors 'self'";
const FILE_POLICY = `sandbox; ${SHUT_IN}`;
const PDF_POLICY = `${SHUT_IN}; object-src 'self'`;

/** Handles GET and HEAD below the share. */
export class ReadRoutes {
  readonly #root: Root;
  readonly #listings: ListingCache;
  readonly #facts: ShareFacts;
  readonly #caching: string;
  readonly #openHot: ReturnType<typeof createHotFiles>;

  constructor({ root, listings, facts }: ReadRoutesOptions) {
    this.#root = root;
    this.#listings = listings;
    this.#facts = facts;
    this.#caching = facts.protected ? "private, no-cache" : "no-cache";
    this.#openHot = createHotFiles(root);
  }

  /** @throws HttpError or the system's error when the path cannot be shown */
  async answer(request: Request, path: SharePath, info: FetchInfo): Promise<Response> {
    const opened = this.#openHot(path.segments);
    if (opened.kind === "file") {
      if (path.isFolder) {
        opened.close();
        throw noSuchEntry();
      }
      const isTold = path.query.has("json") || path.query.has("hash");
      if (isTold) return await this.#answerTold(request, await this.#tellOfFile(request, path, opened));
      return this.#sendFile(request, path, opened, info.isDirect);
    }
    try {
      return await this.#answerOpened(request, path, opened);
    } finally {
      opened.close();
    }
  }

  async #answerOpened(request: Request, path: SharePath, folder: Folder): Promise<Response> {
    const response = await this.#answerFolder(request, path, folder);
    // An archive's length is unknown in advance, and archives are not text.
    return findArchiveKind(path.query) === null ? await this.#answerTold(request, response) : response;
  }

  #sendFile(request: Request, path: SharePath, file: OpenFile, isDirect = false): Response | Promise<Response> {
    const name = path.segments[path.segments.length - 1];
    const headers: Record<string, string> = {
      "cache-control": this.#caching,
      "content-security-policy": /\.pdf$/i.test(name) ? PDF_POLICY : FILE_POLICY,
    };
    if (path.query.has("download")) headers["content-disposition"] = describeDisposition("attachment", name);
    // Saved files keep their name. A plain URL already contains it.
    else if (!/^[\w.-]+$/.test(name)) headers["content-disposition"] = describeDisposition("inline", name);
    return answerFile(request, file, { name, headers, compress: true, isDirect });
  }

  /** Sends generated content, compressed where that saves bytes. */
  async #answerTold({ method, headers }: Request, told: Response): Promise<Response> {
    const response = await codeAnswer(headers.get("accept-encoding"), told);
    return method === "HEAD" ? await withoutBody(response) : response;
  }

  /** Sends a file's metadata, or only its hash. */
  async #tellOfFile({ method, signal }: Request, path: SharePath, file: OpenFile): Promise<Response> {
    try {
      const name = path.segments[path.segments.length - 1];
      if (path.query.has("hash")) {
        // HEAD needs only the length, which is constant.
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

  async #answerFolder(request: Request, path: SharePath, folder: Folder): Promise<Response> {
    if (!path.isFolder) return redirectToFolder(path);
    const { query, segments } = path;
    const archive = findArchiveKind(query);
    if (archive !== null) {
      return sendArchive(request, this.#root, segments, {
        kind: archive,
        shareName: this.#facts.name,
        names: query.getAll("name"),
      });
    }
    const format = chooseFormat(request, query);
    // dufs uses the names `q` and `noscript`, so its scripts keep working.
    const search = query.get("search") ?? query.get("q");
    if (search !== null) return await this.#answerSearch(request, path, search, format);
    const listing = await this.#listings.listJson(folder);
    if (format === "html") return renderFolderPage(this.#facts, sortJson(listing, query));
    if (format === "json") {
      return sendJson(`{"share":${JSON.stringify(this.#facts)},"entries":${sortJson(listing, query)}}`);
    }
    const entries = sortEntries(JSON.parse(listing), query);
    if (format === "text") return sendNames(entries);
    return renderPlainPage({ facts: this.#facts, segments, entries, isSortable: query.has("plain") });
  }

  async #answerSearch(
    { signal }: Request,
    { segments, query }: SharePath,
    search: string,
    format: Format,
  ): Promise<Response> {
    const { matches, isPartial } = await searchNames(this.#root, segments, { query: search, signal });
    const entries = sortEntries(matches, query);
    if (query.has("simple")) return sendNames(entries);
    if (format === "html") return renderFolderPage(this.#facts, JSON.stringify(entries), isPartial);
    if (format === "plain") return renderPlainPage({ facts: this.#facts, segments, entries, isSortable: false });
    return sendJson(JSON.stringify({ matches: entries, isPartial }));
  }
}

function redirectToFolder({ segments, search }: SharePath): Response {
  return new Response(null, {
    status: 307,
    headers: { location: serializePath(segments, true) + search, "cache-control": "no-store" },
  });
}

type Format = "html" | "plain" | "json" | "text";

/**
 * Programs that follow links without running scripts. They accept any type and would otherwise get names without links.
 */
const LINK_FOLLOWERS = /^(?:wget|httrack|lynx|links|elinks|w3m)\b/i;

/** Chooses a page for browsers, JSON for programs that request it, and plain names otherwise. */
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

/** Sorts a listing by the requested order. */
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

/** Characters that break a line or control a terminal. */
// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;

/** Sends one name a line, with a slash behind folders. */
function sendNames(entries: readonly ListedEntry[]): Response {
  const text = entries.map(({ name, kind }) => `${name.replace(CONTROLS, "?")}${kind === "folder" ? "/" : ""}\n`).join(
    "",
  );
  return sendListing(text, "text/plain; charset=utf-8");
}

/** Opens files like {@link Root} and caches the content of small files that are requested repeatedly. */
export type OpenHot = (segments: readonly string[]) => OpenFile | Folder;

/** Largest cached file and largest cache, in bytes. */
const MAX_FILE = 64 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;
/** A file modified within this many milliseconds may change again without a new timestamp. */
const SETTLED_MS = 1000;

interface Kept {
  stamp: string;
  file: OpenFile;
}

/**
 * Creates a cache for small files. A cached file is sent only while its path has the same stamp as when it was opened
 * and checked: device, inode, size and change times. A redirected link yields another stamp and passes through all
 * checks.
 */
export function createHotFiles(root: Root, now: () => number = Date.now): OpenHot {
  const kept = new Map<string, Kept>();
  let bytes = 0;

  function forget(key: string, { file }: Kept): void {
    kept.delete(key);
    bytes -= file.stat.size;
  }

  function keep(key: string, full: string, file: OpenFile): OpenFile {
    const { size, mtimeMs, ctimeMs } = file.stat;
    if (size > MAX_FILE || now() - Math.max(mtimeMs, ctimeMs) < SETTLED_MS) return file;
    const content = readBytes(file, 0, size);
    const stamp = getStamp(full);
    // Compare the stamp before and after the read, so that it matches the content.
    if (stamp === null || content.length !== size || !stamp.startsWith(`${file.stat.dev} ${file.stat.ino} ${size} `)) {
      return file;
    }
    const hot: OpenFile = { ...file, fd: -1, content, close() {} };
    file.close();
    kept.set(key, { stamp, file: hot });
    bytes += size;
    for (const [oldest, entry] of kept) {
      if (bytes <= MAX_BYTES) break;
      forget(oldest, entry);
    }
    return hot;
  }

  return (segments) => {
    const key = segments.join("/");
    const full = path.join(root.path, key);
    const found = kept.get(key);
    if (found !== undefined) {
      if (found.stamp === getStamp(full)) return found.file;
      forget(key, found);
    }
    const opened = root.open(segments);
    return opened.kind === "file" ? keep(key, full, opened) : opened;
  };
}
