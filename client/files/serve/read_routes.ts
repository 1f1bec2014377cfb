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

/** What the routes share that only read. */
export interface ReadRoutesOptions {
  root: Root;
  listings: ListingCache;
  facts: ShareFacts;
}

/**
 * What keeps a file of the share from acting as a page of the share: no script, an origin of its own.
 * Chromium shows no PDF in a sandbox; its viewer runs nothing of the file on our origin.
 */
const SHUT_IN = "default-src 'none'; img-src 'self' data:; media-src 'self'; font-src 'self' data:; " +
  "style-src 'self' 'unsafe-inline'; frame-ancestors 'self'";
const FILE_POLICY = `sandbox; ${SHUT_IN}`;
const PDF_POLICY = `${SHUT_IN}; object-src 'self'`;

/** Answers GET and HEAD below the share. */
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

  /** @throws HttpError, or the system's error, for what cannot be shown */
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
    // How long an archive becomes is not known before it has been made, and it is no text.
    return findArchiveKind(path.query) === null ? await this.#answerTold(request, response) : response;
  }

  #sendFile(request: Request, path: SharePath, file: OpenFile, isDirect = false): Response | Promise<Response> {
    const name = path.segments[path.segments.length - 1];
    const headers: Record<string, string> = {
      "cache-control": this.#caching,
      "content-security-policy": /\.pdf$/i.test(name) ? PDF_POLICY : FILE_POLICY,
    };
    if (path.query.has("download")) headers["content-disposition"] = describeDisposition("attachment", name);
    // Whoever saves a file saves it under its name; an address that spells it out has said so already.
    else if (!/^[\w.-]+$/.test(name)) headers["content-disposition"] = describeDisposition("inline", name);
    return answerFile(request, file, { name, headers, compress: true, isDirect });
  }

  /** Sends what was made for this visitor, coded where that is worth it. */
  async #answerTold({ method, headers }: Request, told: Response): Promise<Response> {
    const response = await codeAnswer(headers.get("accept-encoding"), told);
    return method === "HEAD" ? await withoutBody(response) : response;
  }

  /** What is known of a file, or its hash alone. */
  async #tellOfFile({ method, signal }: Request, path: SharePath, file: OpenFile): Promise<Response> {
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
    // `q` and `noscript` are what dufs calls them, so that its scripts go on working.
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

/** Opens files as {@link Root} does, and keeps the bytes of small ones that are asked for again. */
export type OpenHot = (segments: readonly string[]) => OpenFile | Folder;

/** A file larger than this is not kept, and no more than so many bytes are. */
const MAX_FILE = 64 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;
/** A file that was written later than this ago could be written again without a trace in its times. */
const SETTLED_MS = 1000;

interface Kept {
  stamp: string;
  file: OpenFile;
}

/**
 * A cache of small files. One is sent from memory only while a look at its path shows the very file that was opened
 * and checked before: same device, inode, size, and times of change. Whatever a link on the way is turned to since is
 * another file, and goes through all checks.
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
    // Looked at before and after: what was read is what the stamp stands for.
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
