import { randomUUID } from "node:crypto";
import { checkOrigin, listOwnHosts } from "../own_hosts.ts";
import type { FetchInfo } from "../../../common/fetch_target.ts";
import { checkConditions, type Representation } from "../../../common/file_http/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import {
  answerLock,
  answerProppatch,
  answerUnlock,
  checkIfHeader,
  openIfThere,
  type Tokens,
} from "../dav/dav_routes.ts";
import type { DavState } from "../dav/propfind.ts";
import { getErrorCode } from "../disk/fs_error.ts";
import type { Root } from "../disk/root.ts";
import { isPlainName, parsePath, serializePath, type TargetPath } from "../disk/target_path.ts";
import { checkWritableNames, findFreeTarget, findWriteTarget } from "../disk/write_target.ts";
import type { ListingCache } from "../serve/listing.ts";
import { answerForm, isForm } from "../upload/form.ts";
import { createUploadKey, describeOffset, putFile, type UploadRequest } from "../upload/put_file.ts";
import { createScratch } from "../upload/scratch.ts";
import { createUploadStore } from "../upload/upload_store.ts";
import { copyEntry, type Destination, makeFolder, moveEntry, removeEntry, type Subject } from "./changes.ts";
import { createTrash } from "./trash.ts";

export interface WriteRoutesOptions {
  root: Root;
  listings: ListingCache;
  maxUpload: number | null;
  dav: DavState;
  /** Let pages of other sites change things too. */
  cors: boolean;
}

/** Everything that changes the share. */
export interface WriteRoutes {
  /** Answers PUT, DELETE, POST, WebDAV's methods that change, and GET and HEAD that ask about an upload or the trash. */
  answer(request: Request, path: TargetPath, info: FetchInfo): Promise<Response>;
  /**
   * Answers PUT of a file and POST of a form with files, none of which replaces anything: what has a name that is taken
   * gets another one, and the answer does not tell.
   */
  add(request: Request, path: TargetPath, info: FetchInfo): Promise<Response>;
  /** Removes what is unfinished. */
  close(): Promise<void>;
}

export function createWriteRoutes({ root, listings, maxUpload, dav, cors }: WriteRoutesOptions): WriteRoutes {
  const scratch = createScratch(root);
  const uploads = createUploadStore(scratch);
  const trash = createTrash(root, scratch);
  const { locks, dead } = dav;

  async function answer(request: Request, path: TargetPath, info: FetchInfo): Promise<Response> {
    if (!cors) checkOrigin(request, info);
    if (request.method === "GET" || request.method === "HEAD") {
      if (path.query.has("trash")) return sendJson({ items: trash.list() });
    }
    const id = path.query.get("upload");
    if (id !== null && request.method !== "PUT") return await answerUpload(request, path, id);
    try {
      return await change(request, path, info);
    } catch (error) {
      // For who reads, nothing is there; who writes must know why nothing can be.
      if (getErrorCode(error) === "ENAMETOOLONG") throw pathTooLong(error);
      throw error;
    } finally {
      listings.clear();
    }
  }

  async function change(request: Request, path: TargetPath, info: FetchInfo): Promise<Response> {
    const { segments, isFolder, query } = path;
    const tokens = checkIfHeader(request, segments, dav);
    switch (request.method) {
      case "PUT":
        if (isFolder) throw new HttpError(409, "is_folder", "A file's address does not end in a slash.");
        return await put(request, path, tokens);
      case "DELETE":
        if (query.has("trash") && segments.length === 0) return await emptyTrash();
        return await remove(request, path, tokens);
      case "MKCOL":
        return await makeCollection(request, segments, tokens);
      case "MOVE":
      case "COPY":
        return await relocate(request, path, readDestination(request, info), tokens);
      case "PROPPATCH":
        return await answerProppatch(request, path, tokens, dav);
      case "LOCK":
        return await answerLock(request, path, tokens, dav);
      case "UNLOCK":
        return answerUnlock(request, path, dav);
    }
    if (isForm(request)) return await takeForm(request, path, tokens);
    if (query.has("mkdir")) return await make(segments, true, tokens);
    if (query.has("trash")) return await removeToTrash(request, path, tokens);
    const trashed = query.get("restore");
    if (trashed !== null) return restore(trashed, tokens);
    const to = query.get("move");
    if (to !== null) return await moveByName(request, path, to, tokens);
    throw new HttpError(
      400,
      "unknown_action",
      "POST takes a form with files, ?mkdir, ?move=PATH, ?trash, ?restore=ID, ?zip or ?tar.",
    );
  }

  function put(request: Request, { segments, query }: TargetPath, tokens: Tokens): Promise<Response> {
    const check = (current: Representation | null) => {
      locks.check({ segments, isMembership: current === null, isDeep: false }, tokens);
      checkConditions(request, current);
    };
    return putFile(request, segments, query.get("upload") ?? "", {
      root,
      uploads,
      maxUpload,
      findTarget: () => findWriteTarget(root, segments),
      check,
      isStillThere: (done, target) => done.tag === target.current?.tag,
    });
  }

  /** A form with files for a folder. A name that is taken gets a number, with `?overwrite` the file is replaced. */
  async function takeForm(
    request: Request,
    { segments, isFolder, query }: TargetPath,
    tokens: Tokens,
  ): Promise<Response> {
    if (!isFolder) {
      throw new HttpError(400, "bad_path", "A form with files is for a folder, whose address ends in a slash.");
    }
    return await answerForm(request, (name, file) => {
      const to = [...segments, name];
      return putFile(file, to, createFormId(), {
        root,
        uploads,
        maxUpload,
        findTarget: () => query.has("overwrite") ? findWriteTarget(root, to) : findFreeTarget(root, to),
        check: (current) => locks.check({ segments: to, isMembership: current === null, isDeep: false }, tokens),
        isStillThere: () => false,
      });
    });
  }

  async function remove(request: Request, { segments, isFolder }: TargetPath, tokens: Tokens): Promise<Response> {
    await removeEntry(root, scratch, createSubject(request, { segments, isFolder }, tokens));
    forget(segments);
    return new Response(null, { status: 204 });
  }

  /** What is known of something besides its content goes with it. */
  function forget(segments: readonly string[]): void {
    locks.removeBelow(segments);
    dead.remove(segments);
  }

  async function removeToTrash(request: Request, path: TargetPath, tokens: Tokens): Promise<Response> {
    const id = await trash.add(createSubject(request, path, tokens));
    forget(path.segments);
    return sendJson({ id });
  }

  function restore(id: string, tokens: Tokens): Response {
    const segments = trash.find(id);
    if (segments !== null) locks.check({ segments, isMembership: true, isDeep: false }, tokens);
    return sendJson({ path: serializePath(trash.restore(id), false) });
  }

  async function emptyTrash(): Promise<Response> {
    await trash.empty();
    return new Response(null, { status: 204 });
  }

  async function add(request: Request, path: TargetPath, info: FetchInfo): Promise<Response> {
    if (!cors) checkOrigin(request, info);
    const take = (name: string, file: UploadRequest, id: string) =>
      putFile(file, [name], id, {
        root,
        uploads,
        maxUpload,
        findTarget: () => findFreeTarget(root, [name]),
        check() {},
        isStillThere: () => true,
      });
    try {
      if (isForm(request)) return await answerForm(request, (name, file) => take(name, file, createFormId()));
      const { status, headers } = await take(path.segments[0], request, path.query.get("upload") || createFormId());
      headers.delete("etag");
      return new Response(null, { status, headers });
    } finally {
      listings.clear();
    }
  }

  /** What goes away from where it is. */
  function createSubject(request: Request, { segments, isFolder }: Place, tokens: Tokens): Subject {
    return {
      segments,
      isFolder,
      check(current) {
        locks.check({ segments, isMembership: true, isDeep: true }, tokens);
        checkConditions(request, current);
      },
    };
  }

  async function make(segments: readonly string[], makeParents: boolean, tokens: Tokens): Promise<Response> {
    locks.check({ segments, isMembership: true, isDeep: false }, tokens);
    await makeFolder(root, segments, makeParents);
    return new Response(null, { status: 201, headers: { location: serializePath(segments, true) } });
  }

  /** MKCOL (RFC 4918, section 9.3). */
  async function makeCollection(request: Request, segments: readonly string[], tokens: Tokens): Promise<Response> {
    if (Number(request.headers.get("content-length")) > 0 || request.headers.has("transfer-encoding")) {
      throw new HttpError(415, "unexpected_body", "MKCOL takes no body.");
    }
    try {
      return await make(segments, false, tokens);
    } catch (error) {
      const isThere = getErrorCode(error) === "EEXIST" || segments.length === 0;
      if (isThere) throw new HttpError(405, "already_exists", "Something of that name is already there.");
      throw error;
    }
  }

  async function moveByName(request: Request, path: TargetPath, name: string, tokens: Tokens): Promise<Response> {
    const { segments: to } = resolveMove(path.segments, name);
    locks.check({ segments: to, isMembership: true, isDeep: true }, tokens);
    const replace = path.query.has("overwrite") ? "file" : "nothing";
    const subject = createSubject(request, path, tokens);
    const isReplaced = await moveEntry(root, scratch, subject, { to, isToFolder: false, replace, makeParents: true });
    return finishMove(path.segments, to, isReplaced);
  }

  /** MOVE and COPY (RFC 4918, sections 9.8 and 9.9). */
  async function relocate(request: Request, path: TargetPath, place: Place, tokens: Tokens): Promise<Response> {
    const to = place.segments;
    const mayReplace = request.headers.get("overwrite")?.trim().toUpperCase() !== "F";
    // A folder that is to be replaced goes by its own address, with the slash.
    const isToFolder = place.isFolder && !(mayReplace && isFolderThere(to));
    locks.check({ segments: to, isMembership: true, isDeep: true }, tokens);
    const destination = {
      to,
      isToFolder,
      replace: mayReplace ? "anything" as const : "nothing" as const,
      makeParents: false,
    };
    try {
      if (request.method === "COPY") return await copy(request, path, destination);
      const subject = createSubject(request, path, tokens);
      return finishMove(path.segments, to, await moveEntry(root, scratch, subject, destination));
    } catch (error) {
      const isTaken = error instanceof HttpError && error.code === "already_exists" && !mayReplace;
      throw isTaken ? new HttpError(412, error.code, error.message) : error;
    }
  }

  function isFolderThere(segments: readonly string[]): boolean {
    const opened = openIfThere(root, segments);
    opened?.close();
    return opened?.kind === "folder";
  }

  async function copy(request: Request, path: TargetPath, destination: Destination): Promise<Response> {
    const isDeep = request.headers.get("depth") !== "0";
    const subject = { ...path, check: (current: Representation) => checkConditions(request, current) };
    const options = { ...destination, isDeep, signal: request.signal };
    const isReplaced = await copyEntry(root, scratch, subject, options);
    dead.copy(path.segments, destination.to, isDeep);
    return describePlaced(destination.to, isReplaced);
  }

  function finishMove(from: readonly string[], to: readonly string[], isReplaced: boolean): Response {
    locks.removeBelow(from);
    dead.move(from, to);
    return describePlaced(to, isReplaced);
  }

  function describePlaced(to: readonly string[], isReplaced: boolean): Response {
    return new Response(null, { status: isReplaced ? 204 : 201, headers: { location: serializePath(to, false) } });
  }

  async function answerUpload(request: Request, { segments }: TargetPath, id: string): Promise<Response> {
    checkWritableNames(root, segments);
    const key = createUploadKey(segments, id);
    const upload = uploads.get(key);
    if (request.method === "DELETE") {
      if (upload !== undefined) await uploads.discard(key, upload);
      return new Response(null, { status: 204 });
    }
    const done = upload === undefined && id !== "" ? await uploads.getCompleted(key) : undefined;
    const headers = describeOffset(done?.size ?? upload?.offset ?? 0);
    if (done !== undefined) headers["upload-complete"] = "?1";
    return new Response(null, { status: 204, headers });
  }

  async function close(): Promise<void> {
    await uploads.close();
    trash.close();
    scratch.close();
  }

  return { answer, add, close };
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

/** Where something is, or is to be. */
type Place = Pick<TargetPath, "segments" | "isFolder">;

/** Reads the path of `?move=`: absolute below the share, or relative to the folder of what is moved. */
function resolveMove(segments: readonly string[], path: string): Place {
  const names = path.split("/");
  const isAbsolute = names.length > 1 && names[0] === "";
  const to = isAbsolute ? names.slice(1) : [...segments.slice(0, -1), ...names];
  if (!to.every((name) => isPlainName(name))) {
    throw new HttpError(400, "bad_path", "The target of the move names no file or folder.");
  }
  return { segments: to, isFolder: false };
}

/** Reads the Destination of WebDAV (RFC 4918, section 10.3): a URL or an absolute path, escaped. */
function readDestination(request: Request, info: FetchInfo): Place {
  const field = request.headers.get("destination");
  if (field === null) throw new HttpError(400, "bad_path", `${request.method} needs a Destination.`);
  const [scheme, host] = /^https?:\/\/([^/?#]*)/i.exec(field) ?? [""];
  if (host !== undefined && !listOwnHosts(request, info).includes(host)) {
    throw new HttpError(502, "other_server", "The Destination is on another server.");
  }
  return parsePath(field.slice(scheme.length).replace(/[?#].*$/, "") || "/");
}
