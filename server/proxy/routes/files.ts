import { answerFile, type FileSource } from "../../../net/file_http/mod.ts";
import { HttpError, methodNotAllowed } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { EXPOSE_HEADERS } from "../../http/mod.ts";
import { type ProxyResponse, type Route, SAFE_HEADERS } from "../response.ts";
import type { ProxyGate } from "../gate.ts";
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, readdir, realpath } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { isPlainName, isShortName, mayHaveShortNames } from "../../../common/platform/mod.ts";

/** Options for local files. */
export interface FilesOptions {
  /** The folder to serve, or null. */
  root: string | null;
  gate: ProxyGate;
}

const PREFIX = "/proxy/files/";
const HEADERS = Object.fromEntries([...SAFE_HEADERS, EXPOSE_HEADERS, ["cache-control", "no-cache, no-transform"]]);

/** `GET /proxy/files/<path>`: a local folder, read-only, with Range and conditional requests (RFC 9110). */
export function createFiles({ root, gate }: FilesOptions): Route {
  return async (exchange) => {
    if (root === null) throw notFound("Local files are not served here.");
    if (exchange.method !== "GET" && exchange.method !== "HEAD") throw methodNotAllowed("GET, HEAD, OPTIONS");
    gate.checkToken(exchange, null);
    const path = decodePath(exchange.path.split("?", 1)[0].slice(PREFIX.length));
    const file = path === null ? null : await openInside(root, path);
    if (file === null || path === null) throw notFound("There is no such file.");
    return await send(exchange, file, path);
  };
}

function decodePath(path: string): string | null {
  // An escaped slash would shift name boundaries after the check.
  if (/%(2f|5c|00)/i.test(path)) return null;
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

async function send(exchange: Exchange, file: OpenedFile, path: string): Promise<ProxyResponse> {
  const request = { method: exchange.method, headers: { get: (name: string) => exchange.header(name) } };
  const name = path.slice(path.lastIndexOf("/") + 1);
  try {
    const { status, headers, body } = await answerFile(request, toSource(file), { name, headers: HEADERS });
    return { status, headers: [...headers], body };
  } catch (error) {
    // A page must be able to read the reason, like every other response.
    if (!(error instanceof HttpError)) throw error;
    return { status: error.status, headers: Object.entries({ ...HEADERS, ...error.headers }), body: null };
  }
}

function toSource({ handle, stats }: OpenedFile): FileSource {
  let isOpen = true;
  return {
    fd: handle.fd,
    stat: stats,
    close() {
      // After reading, a failed close loses nothing.
      if (isOpen) handle.close().catch(() => {});
      isOpen = false;
    },
  };
}

function notFound(message: string): HttpError {
  return new HttpError(404, "not_found", message);
}

/** An open file inside its folder, with links resolved. */
export interface OpenedFile {
  /** The opener closes it. */
  handle: FileHandle;
  stats: Stats;
}

/**
 * Opens a file in `root` by its path with forward slashes. Returns null for a missing, hidden or special file, and for
 * one outside `root`, whether by `..`, an absolute path, a symbolic link or a second name in the file system.
 * @param disk functions that list names and check for second names
 * @throws other system errors
 */
export async function openInside(
  root: string,
  path: string,
  disk: Disk = { listNames: readdir, mayHaveShortNames },
): Promise<OpenedFile | null> {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.length === 0 || !segments.every(isPlainSegment)) return null;
  try {
    const realRoot = await realpath(resolve(root));
    if (!await areOwnNames(realRoot, segments, disk)) return null;
    const real = await realpath(join(realRoot, ...segments));
    const prefix = realRoot.endsWith(sep) ? realRoot : realRoot + sep;
    // A link may lead outside, or to a hidden file inside.
    if (!real.startsWith(prefix) || !real.slice(prefix.length).split(sep).every(isPlainSegment)) return null;
    return await openPlain(real);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Refuses hidden names, parents, device names, and text that a file system reads as several names. */
function isPlainSegment(segment: string): boolean {
  return !segment.startsWith(".") && !segment.includes(":") && isPlainName(segment);
}

interface Disk {
  listNames(folder: string): Promise<readonly string[]>;
  mayHaveShortNames(folder: string): boolean;
}

/** Whether names that look like short names, such as `ENV~1` for `.env`, really exist under that name. */
async function areOwnNames(root: string, segments: readonly string[], disk: Disk): Promise<boolean> {
  for (const [depth, name] of segments.entries()) {
    if (!isShortName(name)) continue;
    const folder = join(root, ...segments.slice(0, depth));
    if (disk.mayHaveShortNames(folder) && !(await disk.listNames(folder)).includes(name)) return false;
  }
  return true;
}

async function openPlain(real: string): Promise<OpenedFile | null> {
  // NOFOLLOW: a link that replaced the file since the check is not followed. NONBLOCK: a pipe cannot block.
  const handle = await open(real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await handle.stat();
    // A link may have replaced a parent folder since the check, so the real path must still be the same.
    if (stats.isFile() && await realpath(real) === real) return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return null;
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : "";
  return ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "EISDIR", "ENXIO"].includes(String(code));
}
