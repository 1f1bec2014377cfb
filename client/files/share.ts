import type { FetchInfo, FetchTarget } from "../../common/fetch_target.ts";
import { errorResponse, HttpError, methodNotAllowed } from "../../common/http_error.ts";
import { describeError, type Logger, silentLogger } from "../../common/log.ts";
import { createDropRoutes, type DropRoutes } from "./drop_routes.ts";
import { DeadProperties } from "./dav/dead_properties.ts";
import { LockTable } from "./dav/locks.ts";
import { answerPropfind, type DavState } from "./dav/propfind.ts";
import { ASSET_FOLDER, loadAssets } from "./page/assets.ts";
import { toHttpError } from "./disk/fs_error.ts";
import { createGate } from "./sign_in/gate.ts";
import { serializeError } from "./dav/xml.ts";
import { codeAnswer, withoutBody } from "../../net/file_http/mod.ts";
import { createListingCache } from "./serve/listing.ts";
import { createLoginRoutes, type LoginRoutes } from "./sign_in/login_routes.ts";
import { type ArchiveKind, findArchiveKind, sendArchive } from "./archive/send_archive.ts";
import { ReadRoutes } from "./serve/read_routes.ts";
import { renderErrorPage, type ShareFacts } from "./page/page.ts";
import { WatchRoutes } from "./serve/watch_routes.ts";
import { openRoot, type Root } from "./disk/root.ts";
import { parseSharePath, type SharePath } from "./disk/share_path.ts";
import type { DiskSystem } from "./disk/system.ts";
import { WriteRoutes } from "./change/write_routes.ts";

/** What is shared, with whom, and whether they may change it. */
export interface FileShareOptions {
  /** The folder, or the one file, to share. */
  path: string;
  /** Whether visitors may change it. Default false. */
  writable?: boolean;
  /** With `writable`: visitors may add files and see nothing. Default false. */
  drop?: boolean;
  /** Asked for before anything is shown. Default none. */
  passphrase?: string;
  /** Show and take names that begin with a dot. Default false. */
  hidden?: boolean;
  /** Bytes of the largest file taken. Default no limit. */
  maxUpload?: number | null;
  /** Let pages of other sites change things, where visitors may. Default false. */
  cors?: boolean;
  /** Takes what visitors are not told. */
  log?: Logger;
  /** What it runs on. Default this system. */
  system?: DiskSystem;
}

const READ_METHODS: readonly string[] = ["GET", "HEAD", "POST", "OPTIONS", "PROPFIND"];
const CHANGES: readonly string[] = ["PUT", "DELETE", "MKCOL", "MOVE", "COPY", "PROPPATCH", "LOCK", "UNLOCK"];
const WRITE_METHODS: readonly string[] = [...READ_METHODS, ...CHANGES];
/** What a form that asks for a zip of many names may have, in bytes. */
const MAX_FORM = 4 * 1024 * 1024;

/**
 * Shares a folder over HTTP: listings, files, archives, search, WebDAV, and when writable uploads and changes.
 * @throws the system's error when `path` cannot be shared, TypeError when it is neither a file nor a folder, or no
 * folder where files are to be dropped
 */
export function createFileShare(options: FileShareOptions): FetchTarget {
  return new FileShare(options);
}

class FileShare implements FetchTarget {
  readonly #root: Root;
  readonly #facts: ShareFacts;
  readonly #log: Logger;
  readonly #login: LoginRoutes | null;
  readonly #read: ReadRoutes;
  readonly #dav: DavState;
  readonly #write: WriteRoutes | null;
  readonly #dropBox: DropRoutes | null;
  readonly #watches: WatchRoutes;
  /** The methods there are, as the field `Allow` has them. */
  readonly #allow: string;
  readonly #platform: string | undefined;
  #isClosed = false;

  constructor(options: FileShareOptions) {
    const { writable = false, drop = false, passphrase, hidden = false, maxUpload = null, cors = false } = options;
    const masksDots = writable && !drop && !hidden;
    const root = openRoot({ path: options.path, hidden, masksDots, system: options.system });
    if (drop && root.only !== null) throw new TypeError(`cannot take files into "${options.path}": it is no folder`);
    const listings = createListingCache(root);
    this.#root = root;
    this.#platform = options.system?.platform;
    this.#facts = { name: root.name, writable, protected: passphrase !== undefined, maxUpload };
    this.#log = options.log ?? silentLogger;
    this.#login = passphrase === undefined ? null : createLoginRoutes(createGate(passphrase));
    this.#read = new ReadRoutes({ root, listings, facts: this.#facts });
    this.#dav = { root, locks: new LockTable(), dead: new DeadProperties(), writable };
    this.#write = writable ? new WriteRoutes({ listings, maxUpload, dav: this.#dav, cors }) : null;
    this.#dropBox = this.#write !== null && drop ? createDropRoutes({ write: this.#write, facts: this.#facts }) : null;
    this.#watches = new WatchRoutes(root);
    this.#allow = (writable ? WRITE_METHODS : READ_METHODS).join(", ");
  }

  fetch(request: Request, info: FetchInfo): Promise<Response> {
    return this.#answer(request, info).catch((error) => this.#refuse(request, info, error));
  }

  async #answer(request: Request, info: FetchInfo): Promise<Response> {
    if (this.#isClosed) throw new HttpError(503, "share_closed", "This share has ended.");
    const refused = await this.#login?.answer(request, info);
    if (refused) return request.method === "HEAD" ? await withoutBody(refused) : refused;
    return await this.#route(request, this.#parsePath(info.path), info);
  }

  #parsePath(path: string): SharePath {
    return parseSharePath(path, { platform: this.#platform, masksDots: this.#root.masksDots });
  }

  async #route(request: Request, path: SharePath, info: FetchInfo): Promise<Response> {
    const isRead = request.method === "GET" || request.method === "HEAD";
    const acceptEncoding = request.headers.get("accept-encoding");
    if (isRead && path.segments[0] === ASSET_FOLDER) return loadAssets().answer(path.segments, acceptEncoding);
    if (this.#dropBox !== null) return await this.#dropBox(request, path, info);
    if (isRead && path.query.has("watch")) return this.#watches.answer(request, path.segments);
    if (isRead && !asksWriter(path)) return await this.#read.answer(request, path, info);
    if (request.method === "OPTIONS") return this.#answerOptions();
    if (request.method === "PROPFIND") {
      return await codeAnswer(acceptEncoding, await answerPropfind(request, path, this.#dav));
    }
    const archive = request.method === "POST" ? findArchiveKind(path.query) : null;
    if (archive !== null) return await this.#answerArchiveForm(request, path, archive);
    if (!isRead && !WRITE_METHODS.includes(request.method)) throw methodNotAllowed(this.#allow);
    if (this.#write === null) throw new HttpError(403, "read_only", "This share is read-only.");
    return await this.#write.answer(request, path, info);
  }

  /** Tells WebDAV's clients what there is; without locks they mount a share read-only, which it is then. */
  #answerOptions(): Response {
    // Explorer asks for the last one before it takes a server for one of WebDAV.
    return new Response(null, {
      status: 204,
      headers: { allow: this.#allow, dav: this.#facts.writable ? "1, 2" : "1", "ms-author-via": "DAV" },
    });
  }

  /** A form can name more entries than an address can. */
  async #answerArchiveForm(request: Request, path: SharePath, kind: ArchiveKind): Promise<Response> {
    if (Number(request.headers.get("content-length") ?? Infinity) > MAX_FORM) {
      throw new HttpError(413, "form_too_large", "The list of names is too long.");
    }
    const names = new URLSearchParams(await request.text()).getAll("name");
    this.#root.openFolder(path.segments).close();
    return sendArchive(request, this.#root, path.segments, { kind, shareName: this.#root.name, names });
  }

  async #refuse(request: Request, info: FetchInfo, error: unknown): Promise<Response> {
    const known = toHttpError(error);
    // What breaks off because the visitor has left is no failure of ours.
    if (known.status >= 500 && !request.signal.aborted) {
      this.#log.error("share_failed", { code: known.code, reason: describeError(known.cause ?? known) });
    }
    const response = this.#refusePage(request, info, known) ?? refuseDav(request, info, known) ??
      errorResponse(known, request.headers.get("accept"));
    if (request.method === "HEAD" && known.status !== 412) return await withoutBody(response);
    if (known.status !== 412) return response;
    // The body of a 412 is nothing.
    response.headers.delete("content-type");
    return new Response(null, response);
  }

  /** A page with a way back, for a browser that was led to where nothing is. */
  #refusePage(request: Request, { path }: FetchInfo, error: HttpError): Response | null {
    const isPage = request.headers.get("accept")?.includes("text/html") && error.body === undefined;
    return isPage && ["GET", "HEAD"].includes(request.method) ? renderErrorPage(this.#facts, error, path) : null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watches.close();
    await this.#write?.close();
  }
}

const DAV_METHODS: ReadonlySet<string> = new Set(["PROPFIND", "PROPPATCH", "MKCOL", "MOVE", "COPY", "LOCK", "UNLOCK"]);

/** The error of a WebDAV method as XML, unless the client asks for JSON; null for any other method. */
function refuseDav({ method, headers }: Request, { path }: FetchInfo, error: HttpError): Response | null {
  if (!DAV_METHODS.has(method) || headers.get("accept")?.includes("application/json")) return null;
  return new Response(serializeError(method, path.replace(/[?#].*$/s, ""), error), {
    status: error.status,
    headers: { ...error.headers, "content-type": "application/xml; charset=utf-8", "portway-error": error.code },
  });
}

/** Whether a read asks for what the writing side knows. */
function asksWriter({ query, segments }: SharePath): boolean {
  return query.has("upload") || (query.has("trash") && segments.length === 0);
}
