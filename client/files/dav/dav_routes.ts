import fs, { constants } from "node:fs";
import { parseHttpDate } from "../../../net/file_http/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { syncFolder } from "../../../common/platform/mod.ts";
import { noSuchEntry } from "../disk/fs_error.ts";
import type { Folder, OpenFile, Root } from "../disk/root.ts";
import { setTimes } from "../disk/set_times.ts";
import type { SharePath } from "../disk/share_path.ts";
import { checkWritableNames, openTargetFolder } from "../disk/write_target.ts";
import { openIfThere, type Tokens } from "./if_header.ts";
import { type Lock, parseTimeout } from "./locks.ts";
import { answerMultiStatus, type DavState, describeResponse } from "./propfind.ts";
import { describeLock, describeStatus, isLive, toPropertyKey } from "./properties.ts";
import { findElement, getElements, getText, isDav, readXml, serializeXml, XML_HEAD, type XmlElement } from "./xml.ts";

/** What Windows calls the time of the last change. It is kept as told and set on the file as well. */
const WINDOWS_MODIFIED = "{urn:schemas-microsoft-com:}Win32LastModifiedTime";
const MODIFIED = "{DAV:}getlastmodified";

/**
 * Answers PROPPATCH (RFC 4918, section 9.2): all of it is done or nothing.
 * @throws HttpError 400, 404, 423, 507
 */
export async function answerProppatch(
  request: Request,
  { segments }: SharePath,
  tokens: Tokens,
  { root, locks, dead }: DavState,
): Promise<Response> {
  const changes = readChanges(await readXml(request));
  const opened = root.open(segments);
  try {
    locks.check({ segments, isMembership: false, isDeep: false }, tokens);
    const refused = changes.filter(({ property, value }) => isRefused(property, value));
    if (refused.length === 0) {
      const kept = changes.filter(({ property }) => toPropertyKey(property) !== MODIFIED);
      dead.change(segments, new Map(kept.map(({ property, value }) => [toPropertyKey(property), value])));
      setModified(root, opened, changes);
    }
    const names = (some: readonly PropertyChange[]) =>
      some.map(({ property }) => serializeXml({ ...property, attributes: [], children: [] })).join("");
    const rest = changes.filter((change) => !refused.includes(change));
    const content = refused.length === 0
      ? describeStatus(names(changes), 200)
      : describeStatus(names(refused), 403) + describeStatus(names(rest), 424);
    const response = describeResponse(segments, opened.kind === "folder", content);
    return answerMultiStatus(`${XML_HEAD}<D:multistatus xmlns:D="DAV:">${response}</D:multistatus>\n`);
  } finally {
    opened.close();
  }
}

/** A property that is to be set, or with null removed. */
interface PropertyChange {
  readonly property: XmlElement;
  readonly value: string | null;
}

function readChanges(body: XmlElement | null): PropertyChange[] {
  if (body === null || !isDav(body, "propertyupdate")) {
    throw new HttpError(400, "bad_xml", "PROPPATCH takes a propertyupdate element.");
  }
  return getElements(body).flatMap((step) => {
    const isSet = isDav(step, "set");
    const prop = isSet || isDav(step, "remove") ? findElement(step, "prop") : undefined;
    return getElements(prop ?? NO_ELEMENT).map((property) => ({
      property,
      value: isSet ? serializeXml(property) : null,
    }));
  });
}

const NO_ELEMENT: XmlElement = { namespace: "", name: "", attributes: [], children: [] };

/** What we know of a file by itself nobody can set, but when it was last changed. */
function isRefused(property: XmlElement, value: string | null): boolean {
  if (!isLive(property)) return false;
  return toPropertyKey(property) !== MODIFIED || value === null || parseHttpDate(getText(property)) === null;
}

function setModified(root: Root, opened: OpenFile | Folder, changes: readonly PropertyChange[]): void {
  for (const { property, value } of changes) {
    const key = toPropertyKey(property);
    const seconds = key === MODIFIED || key === WINDOWS_MODIFIED ? parseHttpDate(getText(property)) : null;
    if (value !== null && seconds !== null) setTimes(root, opened, seconds);
  }
}

/**
 * Answers LOCK (RFC 4918, section 9.10): a new lock, with an empty file where nothing is, or one that is renewed.
 * @throws HttpError 423 when someone else holds one, 412 when there is none to renew, 400, 404, 409
 */
export async function answerLock(
  request: Request,
  path: SharePath,
  tokens: Tokens,
  state: DavState,
): Promise<Response> {
  const { locks } = state;
  const body = await readXml(request);
  const seconds = parseTimeout(request.headers.get("timeout"));
  if (body === null) {
    const renewed = [...tokens].map((token) => locks.refresh(token, path.segments, seconds)).find((lock) => lock);
    if (!renewed) throw new HttpError(412, "no_such_lock", "There is no lock of yours here to be renewed.");
    return describeHeld(renewed, 200, false);
  }
  const wish = readLockWish(request, body);
  const isNew = !isThere(state.root, path);
  if (path.segments.length > 0) checkWritableNames(state.root, path.segments);
  if (isNew) locks.check({ segments: path.segments, isMembership: true, isDeep: false }, tokens);
  const lock = locks.add({ segments: path.segments, ...wish }, seconds);
  try {
    if (isNew) await createEmpty(state.root, path);
  } catch (error) {
    locks.remove(lock.token, path.segments);
    throw error;
  }
  return describeHeld(lock, isNew ? 201 : 200, true);
}

function isThere(root: Root, { segments, isFolder }: SharePath): boolean {
  const opened = openIfThere(root, segments);
  opened?.close();
  if (opened?.kind === "file" && isFolder) throw noSuchEntry();
  return opened !== null;
}

function readLockWish(request: Request, body: XmlElement): Pick<Lock, "isDeep" | "isExclusive" | "owner"> {
  const scope = findElement(body, "lockscope");
  const type = findElement(body, "locktype");
  const isExclusive = scope !== undefined && findElement(scope, "exclusive") !== undefined;
  const isShared = scope !== undefined && findElement(scope, "shared") !== undefined;
  const depth = request.headers.get("depth")?.toLowerCase() ?? "infinity";
  const isWrite = type !== undefined && findElement(type, "write") !== undefined;
  if (!isDav(body, "lockinfo") || isExclusive === isShared || !isWrite || !["0", "infinity"].includes(depth)) {
    throw new HttpError(
      400,
      "bad_lock",
      "LOCK takes a lockinfo element: shared or exclusive, write, Depth 0 or infinity.",
    );
  }
  const owner = findElement(body, "owner");
  return { isDeep: depth === "infinity", isExclusive, owner: owner === undefined ? "" : serializeXml(owner) };
}

async function createEmpty(root: Root, { segments, isFolder }: SharePath): Promise<void> {
  if (isFolder) throw new HttpError(409, "is_folder", "A file's address does not end in a slash.");
  const folder = openTargetFolder(root, segments.slice(0, -1));
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
    fs.closeSync(fs.openSync(`${folder.path}/${segments[segments.length - 1]}`, flags));
    await syncFolder(folder.fd);
  } finally {
    folder.close();
  }
}

function describeHeld(lock: Lock, status: number, isNew: boolean): Response {
  const body = `${XML_HEAD}<D:prop xmlns:D="DAV:"><D:lockdiscovery>${describeLock(lock)}</D:lockdiscovery></D:prop>\n`;
  const headers: Record<string, string> = { "content-type": "application/xml; charset=utf-8" };
  if (isNew) headers["lock-token"] = `<${lock.token}>`;
  return new Response(body, { status, headers });
}

/**
 * Answers UNLOCK (RFC 4918, section 9.11).
 * @throws HttpError 400 without a token, 409 when there is no such lock
 */
export function answerUnlock(request: Request, { segments }: SharePath, { locks }: DavState): Response {
  const token = /^\s*<([^<>]+)>\s*$/.exec(request.headers.get("lock-token") ?? "")?.[1];
  if (token === undefined) throw new HttpError(400, "bad_lock", "UNLOCK needs a Lock-Token.");
  if (!locks.remove(token, segments)) throw new HttpError(409, "no_such_lock", "There is no such lock here.");
  return new Response(null, { status: 204 });
}
