import type { FetchInfo, FetchTarget } from "../../common/fetch_target.ts";
import { errorResponse, HttpError, methodNotAllowed } from "../../common/http_error.ts";
import { describeError, type Logger, silentLogger } from "../../common/log.ts";
import { createDropRoutes } from "./drop_routes.ts";
import { DeadProperties } from "./dav/dead_properties.ts";
import { LockTable } from "./dav/locks.ts";
import { answerPropfind, type DavState } from "./dav/propfind.ts";
import { ASSET_FOLDER, loadAssets } from "./page/assets.ts";
import { toHttpError } from "./disk/fs_error.ts";
import { createGate } from "./sign_in/gate.ts";
import { codeAnswer, withoutBody } from "../../common/file_http/mod.ts";
import { createListingCache } from "./serve/listing.ts";
import { createLoginRoutes } from "./sign_in/login_routes.ts";
import { type ArchiveKind, findArchiveKind, sendArchive } from "./archive/send_archive.ts";
import { ReadRoutes } from "./serve/read_routes.ts";
import { renderErrorPage } from "./page/page.ts";
import { createWatchRoutes } from "./serve/watch_routes.ts";
import { openRoot } from "./disk/root.ts";
import { parseSharePath, type SharePath } from "./disk/share_path.ts";
import type { DiskSystem } from "./disk/system.ts";
import { WriteRoutes } from "./change/write_routes.ts";

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
  const { writable = false, drop = false, passphrase, hidden = false, maxUpload = null, cors = false } = options;
  const { log = silentLogger, system } = options;
  const root = openRoot({ path: options.path, hidden, system });
  if (drop && root.only !== null) throw new TypeError(`cannot take files into "${options.path}": it is no folder`);
  const listings = createListingCache(root);
  const facts = { name: root.name, writable, protected: passphrase !== undefined, maxUpload };
  const login = passphrase === undefined ? null : createLoginRoutes(createGate(passphrase));
  const read = new ReadRoutes({ root, listings, facts });
  const dav: DavState = { root, locks: new LockTable(), dead: new DeadProperties(), writable };
  const write = writable ? new WriteRoutes({ listings, maxUpload, dav, cors }) : null;
  const dropBox = write !== null && drop ? createDropRoutes({ write, facts }) : null;
  const watches = createWatchRoutes(root);
  let isClosed = false;

  async function answer(request: Request, info: FetchInfo): Promise<Response> {
    if (isClosed) throw new HttpError(503, "share_closed", "This share has ended.");
    const refused = await login?.answer(request, info);
    if (refused) return request.method === "HEAD" ? await withoutBody(refused) : refused;
    return await route(request, parseSharePath(info.path), info);
  }

  async function route(request: Request, path: SharePath, info: FetchInfo): Promise<Response> {
    const isRead = request.method === "GET" || request.method === "HEAD";
    const acceptEncoding = request.headers.get("accept-encoding");
    if (isRead && path.segments[0] === ASSET_FOLDER) return loadAssets().answer(path.segments, acceptEncoding);
    if (dropBox !== null) return await dropBox(request, path, info);
    if (isRead && path.query.has("watch")) return await watches.answer(request, path.segments);
    if (isRead && !asksWriter(path)) return await read.answer(request, path, info);
    const allow = (writable ? WRITE_METHODS : READ_METHODS).join(", ");
    if (request.method === "OPTIONS") return answerOptions(allow);
    if (request.method === "PROPFIND") {
      return await codeAnswer(acceptEncoding, await answerPropfind(request, path, dav));
    }
    const archive = request.method === "POST" ? findArchiveKind(path.query) : null;
    if (archive !== null) return await answerArchiveForm(request, path, archive);
    if (!isRead && !WRITE_METHODS.includes(request.method)) throw methodNotAllowed(allow);
    if (write === null) throw new HttpError(403, "read_only", "This share is read-only.");
    return await write.answer(request, path, info);
  }

  /** Tells WebDAV's clients what there is; without locks they mount a share read-only, which it is then. */
  function answerOptions(allow: string): Response {
    // Explorer asks for the last one before it takes a server for one of WebDAV.
    return new Response(null, {
      status: 204,
      headers: { allow, dav: writable ? "1, 2" : "1", "ms-author-via": "DAV" },
    });
  }

  /** A form can name more entries than an address can. */
  async function answerArchiveForm(request: Request, path: SharePath, kind: ArchiveKind): Promise<Response> {
    if (Number(request.headers.get("content-length") ?? Infinity) > MAX_FORM) {
      throw new HttpError(413, "form_too_large", "The list of names is too long.");
    }
    const names = new URLSearchParams(await request.text()).getAll("name");
    root.openFolder(path.segments).close();
    return sendArchive(request, root, path.segments, { kind, shareName: root.name, names });
  }

  async function refuse(request: Request, info: FetchInfo, error: unknown): Promise<Response> {
    const known = toHttpError(error);
    // What breaks off because the visitor has left is no failure of ours.
    if (known.status >= 500 && !request.signal.aborted) {
      log.error("share_failed", { code: known.code, reason: describeError(known.cause ?? known) });
    }
    const response = refusePage(request, info, known) ?? errorResponse(known, request.headers.get("accept"));
    if (request.method === "HEAD" && known.status !== 412) return await withoutBody(response);
    if (known.status !== 412) return response;
    // The body of a 412 is nothing.
    response.headers.delete("content-type");
    return new Response(null, response);
  }

  /** A page with a way back, for a browser that was led to where nothing is. */
  function refusePage(request: Request, { path }: FetchInfo, error: HttpError): Response | null {
    const isPage = request.headers.get("accept")?.includes("text/html") && error.body === undefined;
    return isPage && ["GET", "HEAD"].includes(request.method) ? renderErrorPage(facts, error, path) : null;
  }

  return {
    fetch: (request, info) => answer(request, info).catch((error) => refuse(request, info, error)),
    async close() {
      isClosed = true;
      watches.close();
      await write?.close();
    },
  };
}

/** Whether a read asks for what the writing side knows. */
function asksWriter({ query, segments }: SharePath): boolean {
  return query.has("upload") || (query.has("trash") && segments.length === 0);
}
