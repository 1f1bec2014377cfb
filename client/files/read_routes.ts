import type { FetchInfo } from "../../common/fetch_target.ts";
import { HttpError } from "../../common/http_error.ts";
import { answerFile } from "./file_answer.ts";
import { notFound } from "./fs_error.ts";
import { withoutBody } from "./head_answer.ts";
import { createHotFiles } from "./hot_files.ts";
import type { ListedEntry, ListingCache } from "./listing.ts";
import { renderFolderPage, type ShareFacts } from "./page.ts";
import type { Folder, OpenFile, Root } from "./root.ts";
import { searchNames } from "./search.ts";
import { serializePath, type TargetPath } from "./target_path.ts";
import { streamZip } from "./zip.ts";

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
    if (opened.kind === "file") return sendFile(request, path, opened, info.isDirect);
    try {
      return await answerFolder(request, path, opened);
    } finally {
      opened.close();
    }
  }

  function sendFile(request: Request, path: TargetPath, file: OpenFile, isDirect = false): Response {
    if (path.isFolder) {
      file.close();
      throw notFound();
    }
    const name = path.segments[path.segments.length - 1];
    const headers: Record<string, string> = {
      "cache-control": caching,
      "content-security-policy": /\.pdf$/i.test(name) ? PDF_POLICY : FILE_POLICY,
    };
    if (path.query.has("download")) headers["content-disposition"] = describeAttachment(name);
    return answerFile(request, file, { name, headers, isDirect });
  }

  async function answerFolder(request: Request, path: TargetPath, folder: Folder): Promise<Response> {
    if (!path.isFolder) return redirectToFolder(path);
    const { query, segments } = path;
    if (query.has("zip")) return sendZip(request, root, segments, facts.name, query.getAll("name"));
    const search = query.get("search");
    const format = chooseFormat(request, query);
    if (search !== null) {
      const found = await searchNames(root, segments, { query: search, signal: request.signal });
      return format === "html"
        ? renderFolderPage(facts, JSON.stringify(found.matches), found.isPartial)
        : sendJson(JSON.stringify(found));
    }
    const listing = await listings.listJson(folder);
    if (format === "html") return renderFolderPage(facts, listing);
    if (format === "json") return sendJson(`{"share":${JSON.stringify(facts)},"entries":${listing}}`);
    return sendNames(listing);
  }

  return async (request, path, info) => {
    const response = await answer(request, path, info);
    // How long a zip becomes is not known before it has been made.
    return request.method === "HEAD" && !path.query.has("zip") ? await withoutBody(response) : response;
  };
}

/** Sends a zip of `names` in a folder, or of all of it. */
export function sendZip(
  request: Request,
  root: Root,
  segments: readonly string[],
  shareName: string,
  names: readonly string[],
): Response {
  // For HEAD an empty stream: listeners take no body for a length of 0.
  const body = request.method === "HEAD"
    ? new Blob().stream()
    : streamZip(root, segments, { names, signal: request.signal });
  const base = names.length === 1 ? names[0] : segments.at(-1) ?? shareName;
  return new Response(body, {
    headers: {
      "content-type": "application/zip",
      "content-disposition": describeAttachment(`${base}.zip`),
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

/** A page for browsers, JSON for programs that ask for it, plain names for everyone else. */
function chooseFormat(request: Request, query: URLSearchParams): "html" | "json" | "text" {
  if (query.has("json")) return "json";
  if (query.has("simple")) return "text";
  const accept = request.headers.get("accept") ?? "";
  if (accept.includes("text/html")) return "html";
  return accept.includes("application/json") ? "json" : "text";
}

const LISTING_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff", "vary": "accept, cookie" };

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
function sendNames(listing: string): Response {
  const entries: ListedEntry[] = JSON.parse(listing);
  const text = entries.map(({ name, kind }) => `${name.replace(CONTROLS, "?")}${kind === "folder" ? "/" : ""}\n`).join(
    "",
  );
  return sendListing(text, "text/plain; charset=utf-8");
}

/** RFC 6266: a plain name for everyone, and the true one in UTF-8. */
function describeAttachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** 405 with what can be done instead. */
export function methodNotAllowed(allow: string): HttpError {
  return new HttpError(405, "method_not_allowed", "This cannot be done with that method.", { headers: { allow } });
}
