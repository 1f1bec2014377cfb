import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { HttpError, methodNotAllowed } from "../../common/http_error.ts";
import { chooseEncoding, compressSync, getMediaType } from "../../net/file_http/mod.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import type { Handler } from "../http/mod.ts";

/** The built documentation: `deno task docs:site` writes it, and packages contain it. */
const BUILT = new URL("../../site/dist/", import.meta.url);
const PREFIX = "/docs";
const DOCUMENT = /\.html$/;

/** Options of {@link createDocs}. */
export interface DocsOptions {
  /** Reports whether a Host field names the server itself. */
  isOwnHost(host: string): boolean;
  /** Folder with the built site; the one beside the program if left out. */
  folder?: URL;
}

/** One site file in memory. */
interface Page {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Record<string, string>;
  /** Compressed forms by content encoding, made on first use. */
  readonly encoded: Map<string, Uint8Array<ArrayBuffer>>;
}

/**
 * Serves the documentation below `/docs` on the server's own hosts, for GET and HEAD. The first request reads the site, a
 * few megabytes, into memory.
 */
export function createDocs({ isOwnHost, folder = BUILT }: DocsOptions): Handler {
  let pages: Map<string, Page> | null = null;
  return {
    prefix: PREFIX,
    handle(exchange) {
      const path = exchange.path.split("?", 1)[0];
      if (path !== PREFIX && !path.startsWith(`${PREFIX}/`)) return undefined;
      if (!isOwnHost(exchange.host)) return undefined;
      if (exchange.method !== "GET" && exchange.method !== "HEAD") throw methodNotAllowed("GET, HEAD");
      if (path === PREFIX) return new Response(null, { status: 308, headers: { location: `${PREFIX}/` } });
      pages ??= loadPages(folder);
      return respond(exchange, pages, path.slice(PREFIX.length + 1));
    },
  };
}

function respond(exchange: Exchange, pages: ReadonlyMap<string, Page>, path: string): Response {
  const page = pages.get(path) ?? pages.get(path === "" ? "index.html" : `${path}.html`);
  if (page === undefined) {
    const missing = pages.get("404.html");
    if (missing === undefined) throw notBuilt();
    return new Response(missing.bytes, { status: 404, headers: missing.headers });
  }
  if (exchange.header("if-none-match") === page.headers.etag) {
    return new Response(null, { status: 304, headers: page.headers });
  }
  const isText = page.headers["content-type"].endsWith("; charset=utf-8");
  const encoding = isText ? chooseEncoding(exchange.header("accept-encoding")) : null;
  if (encoding === null) return new Response(page.bytes, { headers: page.headers });
  const packed = page.encoded.get(encoding) ?? compressSync(page.bytes, encoding);
  page.encoded.set(encoding, packed);
  return new Response(packed, { headers: { ...page.headers, "content-encoding": encoding } });
}

/** Reads all files below the folder; none if it does not exist. */
function loadPages(folder: URL): Map<string, Page> {
  const pages = new Map<string, Page>();
  if (!existsSync(folder)) return pages;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = `${entry.parentPath.replaceAll("\\", "/")}/${entry.name}`;
    const name = file.slice(fileURLToPath(folder).replaceAll("\\", "/").length).replace(/^\//, "");
    pages.set(name, createPage(name, new Uint8Array(readFileSync(file))));
  }
  return pages;
}

function createPage(name: string, bytes: Uint8Array<ArrayBuffer>): Page {
  const type = getMediaType(name);
  const headers: Record<string, string> = {
    "content-type": /^text\/|javascript|json|svg/.test(type) ? `${type}; charset=utf-8` : type,
    "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    "etag": `W/"${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}"`,
    "vary": "accept-encoding",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
  };
  if (DOCUMENT.test(name)) headers["content-security-policy"] = createPolicy(new TextDecoder().decode(bytes));
  return { bytes, headers, encoded: new Map() };
}

/** Allows the page's own inline scripts by their hashes (CSP Level 3, section 2.3.1), and no others. */
function createPolicy(html: string): string {
  const scripts = [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(([, code]) =>
    `'sha256-${createHash("sha256").update(code).digest("base64")}'`
  );
  return `default-src 'self'; script-src 'self' ${scripts.join(" ")}; style-src 'self' 'unsafe-inline'; ` +
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

function notBuilt(): HttpError {
  const details = "Build it with `deno task docs:site`.";
  return new HttpError(404, "not_found", "This installation has no documentation.", { details });
}
