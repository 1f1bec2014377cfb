import type { FetchInfo, FetchTarget } from "../../common/fetch_target.ts";
import { errorResponse, HttpError } from "../../common/http_error.ts";
import { describeError, type Logger, silentLogger } from "../../common/log.ts";
import { withoutBody } from "../../net/file_http/mod.ts";
import {
  createGate,
  createLoginRoutes,
  getErrorCode,
  type LoginRoutes,
  noSuchEntry,
  openRoot,
  parseSharePath,
  type Root,
  toHttpError,
} from "../files/mod.ts";
import { findFile, findRoute, openFile, type SitePage } from "./find_page.ts";
import { LiveReload } from "./live_reload.ts";
import { type Redirect, RULE_FILES, SiteRuleFiles, type SiteRules } from "./site_rules.ts";
import { sendPage } from "./send_page.ts";

const METHODS = "GET, HEAD, OPTIONS";

/** Site options. */
export interface SiteOptions {
  /** The site's folder. */
  path: string;
  /** A single-page application's index file, relative to the folder; null for a plain site. */
  spa?: string | null;
  /** Reload open pages when files change. Default false. */
  live?: boolean;
  /** Serve names that begin with a dot; `.well-known` always is. Default false. */
  hidden?: boolean;
  /** Passphrase that visitors must enter. Default none. */
  passphrase?: string;
  /** Receives internal errors. */
  log?: Logger;
}

/** A folder served as a site. The caller closes it. */
export interface WebSite extends FetchTarget {
  /** Whether the site had an index page when it was opened. */
  readonly hasIndex: boolean;
}

/**
 * Serves a folder as a website: index files, addresses without .html, 404.html, precompressed files, ranges.
 * @throws TypeError when `path` is no folder or a single-page application's index file is missing; the system's
 * error when it cannot be opened
 */
export function createSite(options: SiteOptions): WebSite {
  return new FolderSite(options);
}

class FolderSite implements WebSite {
  readonly hasIndex: boolean;
  readonly #root: Root;
  readonly #spa: string | null;
  readonly #log: Logger;
  readonly #live: LiveReload | null;
  readonly #rules: SiteRuleFiles;
  readonly #login: LoginRoutes | null;
  #isClosed = false;

  constructor({ path, spa = null, live, hidden = false, passphrase, log = silentLogger }: SiteOptions) {
    const root = openRoot({ path, hidden, shown: [".well-known"] });
    if (root.only !== null) throw new TypeError(`cannot serve "${path}" as a site: it is no folder`);
    if (spa !== null) checkIndex(root, path, spa);
    this.hasIndex = spa !== null || isThere(root, "index.html");
    this.#root = root;
    this.#spa = spa;
    this.#log = log;
    this.#rules = openRules(root, path, log);
    this.#live = live ? new LiveReload(root.path, log) : null;
    this.#login = passphrase === undefined ? null : createLoginRoutes(createGate(passphrase));
  }

  fetch(request: Request, info: FetchInfo): Promise<Response> {
    return this.#answer(request, info).catch((error) => this.#refuse(request, error, false));
  }

  async #answer(request: Request, info: FetchInfo): Promise<Response> {
    if (this.#isClosed) throw new HttpError(503, "site_closed", "This site is no longer served.");
    const refused = await this.#login?.answer(request, info);
    if (refused) return request.method === "HEAD" ? await withoutBody(refused) : refused;
    const rules = this.#rules.load();
    const response = await this.#answerOpen(request, info, rules).catch((error) => this.#refuse(request, error, true));
    rules.dress(splitPath(info.path)[0], response.headers);
    // Shared caches must not store responses to visitors with the passphrase.
    if (this.#login !== null) makePrivate(response.headers);
    return response;
  }

  async #answerOpen(request: Request, info: FetchInfo, rules: SiteRules): Promise<Response> {
    const { path: target, isDirect } = info;
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow: METHODS } });
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new HttpError(405, "method_not_allowed", "This site is read-only.", { headers: { allow: METHODS } });
    }
    const answered = this.#live?.answer(request, target);
    if (answered) return answered;
    const [path, search] = splitPath(target);
    const page = findRedirect(this.#root, rules.redirect(path, search, true)) ?? this.#findPage(target) ??
      findRedirect(this.#root, rules.redirect(path, search, false)) ??
      findRoute(request, this.#root, parseSharePath(target), this.#spa);
    if (page === null) throw noSuchEntry();
    return await sendPage(request, this.#root, page, this.#live, isDirect);
  }

  #findPage(target: string): SitePage | null {
    // No file has an address with an empty name. Visitors get there through links that join two slashes.
    if (/^[^?]*\/\//.test(target)) throw noSuchEntry();
    const path = parseSharePath(target);
    const [name] = path.segments;
    return path.segments.length === 1 && RULE_FILES.includes(name) ? null : findFile(this.#root, path);
  }

  /** @param isInside whether the visitor may see the site, and so its 404.html */
  async #refuse(request: Request, error: unknown, isInside: boolean): Promise<Response> {
    const known = toHttpError(error);
    // A visitor that closed the connection caused this error.
    if (known.status >= 500 && !request.signal.aborted) {
      this.#log.error("site_failed", { code: known.code, reason: describeError(known.cause ?? known) });
    }
    if (known.status === 404 && isInside && (request.method === "GET" || request.method === "HEAD")) {
      const page = await this.#sendOwnNotFound(request);
      if (page !== null) return page;
    }
    const response = errorResponse(known, request.headers.get("accept"));
    if (known.status === 412) return new Response(null, response);
    return request.method === "HEAD" ? await withoutBody(response) : response;
  }

  async #sendOwnNotFound(request: Request): Promise<Response | null> {
    try {
      const file = this.#root.open(["404.html"]);
      if (file.kind === "file") {
        return await sendPage(request, this.#root, { file, name: "404.html", status: 404 }, this.#live);
      }
      file.close();
    } catch (error) {
      if (!(error instanceof HttpError) && getErrorCode(error) !== "ENOENT") throw error;
    }
    return null;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#live?.close();
    return Promise.resolve();
  }
}

/** A request target's path and query; the query has its question mark, or is "". */
function splitPath(target: string): [path: string, search: string] {
  const mark = target.indexOf("?");
  return mark < 0 ? [target, ""] : [target.slice(0, mark), target.slice(mark)];
}

/** Returns the page for a redirect: another URL, or a site's file for status 200 and 404. */
function findRedirect(root: Root, redirect: Redirect | null): SitePage | null {
  if (redirect === null) return null;
  const { status, location } = redirect;
  if (status !== 200 && status !== 404) return { redirect: location, status };
  const page = findFile(root, parseSharePath(location));
  return page === null || "redirect" in page ? page : { ...page, status };
}

function openRules(root: Root, folder: string, log: Logger): SiteRuleFiles {
  try {
    return new SiteRuleFiles(root, log);
  } catch (cause) {
    throw new TypeError(`cannot serve "${folder}": ${describeError(cause)}`, { cause });
  }
}

function checkIndex(root: Root, folder: string, index: string): void {
  try {
    const opened = root.open(index.split("/"));
    opened.close();
    if (opened.kind === "file") return;
  } catch (cause) {
    throw new TypeError(`cannot serve "${folder}": it has no "${index}"`, { cause });
  }
  throw new TypeError(`cannot serve "${folder}": "${index}" is no file`);
}

function isThere(root: Root, name: string): boolean {
  const file = openFile(root, [name]);
  file?.close();
  return file !== null;
}

function makePrivate(headers: Headers): void {
  const caching = headers.get("cache-control") ?? "no-cache";
  headers.set(
    "cache-control",
    caching.startsWith("public") ? caching.replace("public", "private") : `private, ${caching}`,
  );
}
