import { randomUUID } from "node:crypto";
import { checkOrigin } from "../sign_in/own_hosts.ts";
import type { FetchInfo } from "../../../common/fetch_target.ts";
import { checkConditions, type Representation } from "../../../net/file_http/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { retryLaterWhileHeld } from "../../../common/platform/mod.ts";
import { answerLock, answerProppatch, answerUnlock } from "../dav/dav_routes.ts";
import { checkIfHeader, type Tokens } from "../dav/if_header.ts";
import type { DavState } from "../dav/propfind.ts";
import { getErrorCode } from "../disk/fs_error.ts";
import type { Root } from "../disk/root.ts";
import { isMaskedName, serializePath, type SharePath } from "../disk/share_path.ts";
import { checkWritableNames, findFreePlace, findWriteTarget } from "../disk/write_target.ts";
import type { ListingCache } from "../serve/listing.ts";
import { answerForm, isForm } from "../upload/form.ts";
import { createUploadKey, describeOffset, putFile, type UploadRequest } from "../upload/put_file.ts";
import { Scratch } from "../upload/scratch.ts";
import { UploadStore } from "../upload/upload_store.ts";
import { DotFiles } from "./dot_files.ts";
import { makeFolder, removeEntry } from "./changes.ts";
import { createSubject, MoveRoutes } from "./move_routes.ts";
import { Trash } from "./trash.ts";

/** What the routes share that change a folder, and what they allow. */
export interface WriteRoutesOptions {
  listings: ListingCache;
  /** Bytes of the largest file taken; null for no limit. */
  maxUpload: number | null;
  dav: DavState;
  /** Let pages of other sites change things too. */
  cors: boolean;
}

/** Everything that changes the share. Its methods reject with `HttpError`, or the system's error. */
export class WriteRoutes {
  readonly #root: Root;
  readonly #listings: ListingCache;
  readonly #maxUpload: number | null;
  readonly #dav: DavState;
  readonly #cors: boolean;
  readonly #scratch: Scratch;
  readonly #uploads: UploadStore;
  readonly #trash: Trash;
  readonly #dotFiles: DotFiles;
  readonly #moves: MoveRoutes;

  constructor({ listings, maxUpload, dav, cors }: WriteRoutesOptions) {
    this.#root = dav.root;
    this.#listings = listings;
    this.#maxUpload = maxUpload;
    this.#dav = dav;
    this.#cors = cors;
    this.#scratch = new Scratch(dav.root);
    this.#uploads = new UploadStore(this.#scratch);
    this.#trash = new Trash(dav.root, this.#scratch);
    this.#dotFiles = new DotFiles(dav.root);
    this.#moves = new MoveRoutes(dav, this.#scratch);
  }

  /**
   * Answers PUT, DELETE, POST, WebDAV's methods that change, and GET and HEAD that ask about an upload or the trash.
   * @throws HttpError, and the system's errors, which `toHttpError` puts into words
   */
  async answer(request: Request, path: SharePath, info: FetchInfo): Promise<Response> {
    if (!this.#cors) checkOrigin(request, info);
    if (request.method === "GET" || request.method === "HEAD") {
      if (path.query.has("trash")) return sendJson({ items: this.#trash.list() });
    }
    const id = path.query.get("upload");
    if (id !== null && request.method !== "PUT") return await this.#answerUpload(request, path, id);
    try {
      const response = await this.#change(request, path, info);
      if (isMaskedName(path.segments.at(-1) ?? "")) await this.#dotFiles.note(path.segments);
      return response;
    } catch (error) {
      // For who reads, nothing is there; who writes must know why nothing can be.
      if (getErrorCode(error) === "ENAMETOOLONG") throw pathTooLong(error);
      throw error;
    } finally {
      this.#listings.clear();
    }
  }

  async #change(request: Request, path: SharePath, info: FetchInfo): Promise<Response> {
    const { segments, isFolder, query } = path;
    const tokens = checkIfHeader(request, segments, this.#dav);
    switch (request.method) {
      case "PUT":
        if (isFolder) throw new HttpError(409, "is_folder", "A file's address does not end in a slash.");
        return await this.#put(request, path, tokens);
      case "DELETE":
        if (query.has("trash") && segments.length === 0) return await this.#emptyTrash();
        return await this.#whileHeld(() => this.#remove(request, path, tokens));
      case "MKCOL":
        return await this.#whileFull(() => this.#makeCollection(request, segments, tokens));
      case "MOVE":
      case "COPY":
        return await this.#whileFull(() => this.#moves.byDestination(request, path, info, tokens));
      case "PROPPATCH":
        return await answerProppatch(request, path, tokens, this.#dav);
      case "LOCK":
        return await answerLock(request, path, tokens, this.#dav);
      case "UNLOCK":
        return answerUnlock(request, path, this.#dav);
    }
    if (isForm(request)) return await this.#takeForm(request, path, tokens);
    if (query.has("mkdir")) return await this.#whileFull(() => this.#make(segments, true, tokens));
    if (query.has("trash")) return await this.#whileHeld(() => this.#removeToTrash(request, path, tokens));
    const trashed = query.get("restore");
    if (trashed !== null) return await this.#whileHeld(() => Promise.resolve(this.#restore(trashed, tokens)));
    const to = query.get("move");
    if (to !== null) return await this.#whileFull(() => this.#moves.byName(request, path, to, tokens));
    throw new HttpError(
      400,
      "unknown_action",
      "POST takes a form with files, ?mkdir, ?move=PATH, ?trash, ?restore=ID, ?zip or ?tar.",
    );
  }

  /**
   * Runs a change, and again while another program has the entry open. A failed attempt changes nothing, except that a
   * partly removed folder has lost entries. Each attempt checks permissions again.
   */
  #whileHeld(change: () => Promise<Response>): Promise<Response> {
    return retryLaterWhileHeld(change, { platform: this.#root.platform });
  }

  /** As {@link #whileHeld}; on a full disk the change is repeated after the oldest trash was deleted. */
  #whileFull(change: () => Promise<Response>): Promise<Response> {
    return this.#scratch.whileFull(this.#root.path, () => this.#whileHeld(change));
  }

  #put(request: Request, { segments, query }: SharePath, tokens: Tokens): Promise<Response> {
    const check = (current: Representation | null) => {
      this.#dav.locks.check({ segments, isMembership: current === null, isDeep: false }, tokens);
      checkConditions(request, current);
    };
    return putFile(request, segments, query.get("upload") ?? "", {
      root: this.#root,
      uploads: this.#uploads,
      maxUpload: this.#maxUpload,
      findPlace: () => findWriteTarget(this.#root, segments),
      check,
      isStillThere: (done, target) => done.tag === target.current?.tag,
    });
  }

  /** A form with files for a folder. A name that is taken gets a number, with `?overwrite` the file is replaced. */
  async #takeForm(
    request: Request,
    { segments, isFolder, query }: SharePath,
    tokens: Tokens,
  ): Promise<Response> {
    if (!isFolder) {
      throw new HttpError(400, "bad_path", "A form with files is for a folder, whose address ends in a slash.");
    }
    return await answerForm(request, async (name, file) => {
      const to = [...segments, name];
      let given = name;
      const findPlace = () => {
        // Whoever replaces a file through a link knows it by the name of the link.
        if (query.has("overwrite")) return findWriteTarget(this.#root, to);
        const place = findFreePlace(this.#root, to);
        given = place.name;
        return place;
      };
      await putFile(file, to, createFormId(), {
        root: this.#root,
        uploads: this.#uploads,
        maxUpload: this.#maxUpload,
        findPlace,
        check: (current) =>
          this.#dav.locks.check({ segments: to, isMembership: current === null, isDeep: false }, tokens),
        isStillThere: () => false,
      });
      return given;
    });
  }

  async #remove(request: Request, { segments, isFolder }: SharePath, tokens: Tokens): Promise<Response> {
    await removeEntry(
      this.#root,
      this.#scratch,
      createSubject(this.#dav.locks, request, { segments, isFolder }, tokens),
    );
    this.#forget(segments);
    return new Response(null, { status: 204 });
  }

  /** What is known of something besides its content goes with it. */
  #forget(segments: readonly string[]): void {
    this.#dav.locks.removeBelow(segments);
    this.#dav.dead.remove(segments);
  }

  async #removeToTrash(request: Request, path: SharePath, tokens: Tokens): Promise<Response> {
    const id = await this.#trash.add(createSubject(this.#dav.locks, request, path, tokens));
    this.#forget(path.segments);
    return sendJson({ id });
  }

  #restore(id: string, tokens: Tokens): Response {
    const segments = this.#trash.find(id);
    if (segments !== null) this.#dav.locks.check({ segments, isMembership: true, isDeep: false }, tokens);
    return sendJson({ path: serializePath(this.#trash.restore(id), false) });
  }

  async #emptyTrash(): Promise<Response> {
    await this.#trash.empty();
    return new Response(null, { status: 204 });
  }

  /**
   * Answers PUT of a file and POST of a form with files, none of which replaces anything: what has a name that is taken
   * gets another one, and the answer does not tell.
   */
  async add(request: Request, path: SharePath, info: FetchInfo): Promise<Response> {
    if (!this.#cors) checkOrigin(request, info);
    const take = (name: string, file: UploadRequest, id: string) =>
      putFile(file, [name], id, {
        root: this.#root,
        uploads: this.#uploads,
        maxUpload: this.#maxUpload,
        findPlace: () => findFreePlace(this.#root, [name]),
        check() {},
        isStillThere: () => true,
      });
    try {
      if (isForm(request)) {
        return await answerForm(request, async (name, file) => {
          await take(name, file, createFormId());
          return name;
        });
      }
      const { status, headers } = await take(path.segments[0], request, path.query.get("upload") || createFormId());
      headers.delete("etag");
      return new Response(null, { status, headers });
    } finally {
      this.#listings.clear();
    }
  }

  async #make(segments: readonly string[], makeParents: boolean, tokens: Tokens): Promise<Response> {
    if (isMaskedName(segments.at(-1) ?? "")) {
      throw new HttpError(403, "hidden_name", "This share does not take that name.");
    }
    this.#dav.locks.check({ segments, isMembership: true, isDeep: false }, tokens);
    await makeFolder(this.#root, segments, makeParents);
    return new Response(null, { status: 201, headers: { location: serializePath(segments, true) } });
  }

  /** MKCOL (RFC 4918, section 9.3). */
  async #makeCollection(request: Request, segments: readonly string[], tokens: Tokens): Promise<Response> {
    if (Number(request.headers.get("content-length")) > 0 || request.headers.has("transfer-encoding")) {
      throw new HttpError(415, "unexpected_body", "MKCOL takes no body.");
    }
    try {
      return await this.#make(segments, false, tokens);
    } catch (error) {
      const isThere = getErrorCode(error) === "EEXIST" || segments.length === 0;
      if (isThere) throw new HttpError(405, "already_exists", "Something of that name is already there.");
      throw error;
    }
  }

  async #answerUpload(request: Request, { segments }: SharePath, id: string): Promise<Response> {
    checkWritableNames(this.#root, segments);
    const key = createUploadKey(segments, id);
    const upload = this.#uploads.get(key);
    if (request.method === "DELETE") {
      if (upload !== undefined) await this.#uploads.discard(key, upload);
      return new Response(null, { status: 204 });
    }
    const done = upload === undefined && id !== "" ? await this.#uploads.getCompleted(key) : undefined;
    const headers = describeOffset(done?.size ?? upload?.offset ?? 0);
    if (done !== undefined) headers["upload-complete"] = "?1";
    return new Response(null, { status: 204, headers });
  }

  /** Removes what is unfinished. */
  async close(): Promise<void> {
    await this.#uploads.close();
    this.#trash.close();
    await this.#dotFiles.close();
    this.#scratch.close();
  }
}

function sendJson(value: unknown): Response {
  return Response.json(value, { headers: { "cache-control": "no-store" } });
}

/** For an upload that nobody can continue: two of one name must not meet. */
function createFormId(): string {
  return `form-${randomUUID()}`;
}

function pathTooLong(cause: unknown): HttpError {
  return new HttpError(414, "path_too_long", "The system takes no path as long as this.", { cause });
}
