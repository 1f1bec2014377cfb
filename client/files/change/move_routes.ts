import type { FetchInfo } from "../../../common/fetch_target.ts";
import { checkConditions, type Representation } from "../../../net/file_http/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { isPlainName } from "../../../common/platform/mod.ts";
import { openIfThere, type Tokens } from "../dav/if_header.ts";
import type { LockTable } from "../dav/locks.ts";
import type { DavState } from "../dav/propfind.ts";
import type { Root } from "../disk/root.ts";
import { isMaskedName, maskDotName, parsePath, serializePath, type SharePath } from "../disk/share_path.ts";
import { listOwnHosts } from "../sign_in/own_hosts.ts";
import type { Scratch } from "../upload/scratch.ts";
import { copyEntry, type Destination, moveEntry, type Subject } from "./changes.ts";

/** Moves and copies inside the share. What is known of something besides its content goes with it. */
export class MoveRoutes {
  readonly #root: Root;
  readonly #scratch: Scratch;
  readonly #locks: LockTable;
  readonly #dead: DavState["dead"];

  constructor({ root, locks, dead }: DavState, scratch: Scratch) {
    this.#root = root;
    this.#scratch = scratch;
    this.#locks = locks;
    this.#dead = dead;
  }

  /** `?move=` with a path, absolute below the share or relative to the folder of what is moved. @throws HttpError */
  async byName(request: Request, path: SharePath, name: string, tokens: Tokens): Promise<Response> {
    const to = this.#mask(path.segments, resolveMove(path.segments, name).segments);
    this.#locks.check({ segments: to, isMembership: true, isDeep: true }, tokens);
    const replace = path.query.has("overwrite") ? "file" : "nothing";
    const subject = createSubject(this.#locks, request, path, tokens);
    const isReplaced = await moveEntry(this.#root, this.#scratch, subject, {
      to,
      isToFolder: false,
      replace,
      makeParents: true,
    });
    return this.#finishMove(path.segments, to, isReplaced);
  }

  /** MOVE and COPY (RFC 4918, sections 9.8 and 9.9). @throws HttpError */
  async byDestination(request: Request, path: SharePath, info: FetchInfo, tokens: Tokens): Promise<Response> {
    const place = readDestination(request, info), to = this.#mask(path.segments, place.segments);
    const mayReplace = request.headers.get("overwrite")?.trim().toUpperCase() !== "F";
    // A folder that is to be replaced goes by its own address, with the slash.
    const isToFolder = place.isFolder && !(mayReplace && this.#isFolderThere(to));
    this.#locks.check({ segments: to, isMembership: true, isDeep: true }, tokens);
    const destination = {
      to,
      isToFolder,
      replace: mayReplace ? "anything" as const : "nothing" as const,
      makeParents: false,
    };
    try {
      if (request.method === "COPY") return await this.#copy(request, path, destination);
      const subject = createSubject(this.#locks, request, path, tokens);
      return this.#finishMove(path.segments, to, await moveEntry(this.#root, this.#scratch, subject, destination));
    } catch (error) {
      const isTaken = error instanceof HttpError && error.code === "already_exists" && !mayReplace;
      throw isTaken ? new HttpError(412, error.code, error.message) : error;
    }
  }

  /** A dot file keeps its masked name when a visitor renames it. @throws HttpError 403 for anything else */
  #mask(from: readonly string[], to: readonly string[]): readonly string[] {
    const masked = this.#root.masksDots ? maskDotName(to) : to;
    if (masked !== to && !isMaskedName(from.at(-1) ?? "")) {
      throw new HttpError(403, "hidden_name", "This share does not take that name.");
    }
    return masked;
  }

  #isFolderThere(segments: readonly string[]): boolean {
    const opened = openIfThere(this.#root, segments);
    opened?.close();
    return opened?.kind === "folder";
  }

  async #copy(request: Request, path: SharePath, destination: Destination): Promise<Response> {
    const isDeep = request.headers.get("depth") !== "0";
    const subject = { ...path, check: (current: Representation) => checkConditions(request, current) };
    const options = { ...destination, isDeep, signal: request.signal };
    const isReplaced = await copyEntry(this.#root, this.#scratch, subject, options);
    this.#dead.copy(path.segments, destination.to, isDeep);
    return describePlaced(destination.to, isReplaced);
  }

  #finishMove(from: readonly string[], to: readonly string[], isReplaced: boolean): Response {
    this.#locks.removeBelow(from);
    this.#dead.move(from, to);
    return describePlaced(to, isReplaced);
  }
}

/** What goes away from where it is, if nobody has locked it and the request's conditions hold. */
export function createSubject(
  locks: LockTable,
  request: Request,
  { segments, isFolder }: Place,
  tokens: Tokens,
): Subject {
  return {
    segments,
    isFolder,
    check(current) {
      locks.check({ segments, isMembership: true, isDeep: true }, tokens);
      checkConditions(request, current);
    },
  };
}

function describePlaced(to: readonly string[], isReplaced: boolean): Response {
  return new Response(null, { status: isReplaced ? 204 : 201, headers: { location: serializePath(to, false) } });
}

/** Where something is, or is to be. */
type Place = Pick<SharePath, "segments" | "isFolder">;

/** Reads the path of `?move=`: absolute below the share, or relative to the folder of what is moved. */
function resolveMove(segments: readonly string[], path: string): Place {
  const names = path.split("/");
  const isAbsolute = names.length > 1 && names[0] === "";
  const to = isAbsolute ? names.slice(1) : [...segments.slice(0, -1), ...names];
  if (!to.every((name) => isPlainName(name))) {
    throw new HttpError(400, "bad_path", "The destination of the move names no file or folder.");
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
