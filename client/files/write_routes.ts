import type { FetchInfo } from "../../common/fetch_target.ts";
import { HttpError } from "../../common/http_error.ts";
import { makeFolder, moveEntry, removeEntry, type Subject } from "./changes.ts";
import { checkConditions } from "./conditions.ts";
import { getErrorCode } from "./fs_error.ts";
import type { ListingCache } from "./listing.ts";
import { createUploadKey, describeOffset, putFile } from "./put_file.ts";
import type { Root } from "./root.ts";
import { createScratch } from "./scratch.ts";
import { createTrash } from "./trash.ts";
import { isPlainName, parsePath, serializePath, type TargetPath } from "./target_path.ts";
import { createUploadStore } from "./upload_store.ts";
import { checkWritableNames } from "./write_target.ts";

export interface WriteRoutesOptions {
  root: Root;
  listings: ListingCache;
  maxUpload: number | null;
}

/** Everything that changes the share. */
export interface WriteRoutes {
  /** Answers PUT, DELETE, MKCOL, MOVE, POST, and GET and HEAD that ask about an upload or the trash. */
  answer(request: Request, path: TargetPath, info: FetchInfo): Promise<Response>;
  /** Removes what is unfinished. */
  close(): Promise<void>;
}

export function createWriteRoutes({ root, listings, maxUpload }: WriteRoutesOptions): WriteRoutes {
  const scratch = createScratch(root);
  const uploads = createUploadStore(scratch);
  const trash = createTrash(root, scratch);

  async function answer(request: Request, path: TargetPath, info: FetchInfo): Promise<Response> {
    checkOrigin(request, info);
    if (request.method === "GET" || request.method === "HEAD") {
      if (path.query.has("trash")) return sendJson({ items: trash.list() });
    }
    const id = path.query.get("upload");
    if (id !== null && request.method !== "PUT") return await answerUpload(request, path, id);
    try {
      return await change(request, path, id ?? "");
    } catch (error) {
      // For who reads, nothing is there; who writes must know why nothing can be.
      if (getErrorCode(error) === "ENAMETOOLONG") throw pathTooLong(error);
      throw error;
    } finally {
      listings.clear();
    }
  }

  async function change(request: Request, path: TargetPath, id: string): Promise<Response> {
    const { segments, isFolder, query } = path;
    const subject: Subject = { segments, isFolder, check: (current) => checkConditions(request, current) };
    switch (request.method) {
      case "PUT":
        if (isFolder) throw new HttpError(409, "is_folder", "A file's address does not end in a slash.");
        return await putFile(request, segments, id, { root, uploads, maxUpload });
      case "DELETE":
        if (query.has("trash") && segments.length === 0) await trash.empty();
        else await removeEntry(root, scratch, subject);
        return new Response(null, { status: 204 });
      case "MKCOL":
        return await make(segments);
      case "MOVE":
        return await move(subject, readDestination(request), request.headers.get("overwrite") !== "F");
    }
    if (query.has("mkdir")) return await make(segments);
    if (query.has("trash")) return sendJson({ id: await trash.add(subject) });
    const trashed = query.get("restore");
    if (trashed !== null) return sendJson({ path: serializePath(trash.restore(trashed), false) });
    const target = query.get("move");
    if (target !== null) return await move(subject, resolveTarget(segments, target), query.has("overwrite"));
    throw new HttpError(400, "unknown_action", "POST takes ?mkdir, ?move=PATH, ?trash, ?restore=ID or ?zip.");
  }

  async function make(segments: readonly string[]): Promise<Response> {
    await makeFolder(root, segments);
    return new Response(null, { status: 201, headers: { location: serializePath(segments, true) } });
  }

  async function move(from: Subject, { segments, isFolder }: MoveTarget, overwrite: boolean): Promise<Response> {
    const isReplaced = await moveEntry(root, { from, to: segments, isToFolder: isFolder, overwrite });
    const headers = { location: serializePath(segments, false) };
    return new Response(null, { status: isReplaced ? 204 : 201, headers });
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

  return { answer, close };
}

function sendJson(value: unknown): Response {
  return Response.json(value, { headers: { "cache-control": "no-store" } });
}

function pathTooLong(cause: unknown): HttpError {
  return new HttpError(414, "path_too_long", "The system takes no path as long as this.", { cause });
}

/**
 * Refuses what another site made a browser send: without a passphrase nothing else tells it from a visitor.
 * @throws HttpError 403
 */
function checkOrigin(request: Request, { publicHost }: FetchInfo): void {
  const origin = request.headers.get("origin");
  if (origin === null) return;
  const host = URL.canParse(origin) ? new URL(origin).host : null;
  const own = [publicHost, request.headers.get("host"), request.headers.get("x-forwarded-host")];
  if (host === null || !own.includes(host)) {
    throw new HttpError(403, "foreign_origin", "Another site may not change what is shared here.");
  }
}

/** Where something is to be moved to. */
type MoveTarget = Pick<TargetPath, "segments" | "isFolder">;

/** Reads the path of `?move=`: absolute below the share, or relative to the folder of what is moved. */
function resolveTarget(segments: readonly string[], target: string): MoveTarget {
  const names = target.split("/");
  const isAbsolute = names.length > 1 && names[0] === "";
  const to = isAbsolute ? names.slice(1) : [...segments.slice(0, -1), ...names];
  if (!to.every((name) => isPlainName(name))) {
    throw new HttpError(400, "bad_path", "The target of the move names no file or folder.");
  }
  return { segments: to, isFolder: false };
}

/** Reads the Destination of WebDAV (RFC 4918, section 10.3): a URL or an absolute path, escaped. */
function readDestination(request: Request): MoveTarget {
  const field = request.headers.get("destination");
  if (field === null) throw new HttpError(400, "bad_path", "MOVE needs a Destination.");
  return parsePath(field.replace(/^https?:\/\/[^/]*/i, "").replace(/[?#].*$/, "") || "/");
}
