import fs from "node:fs";
import { streamPieces } from "../../../net/file_http/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { noSuchEntry } from "../disk/fs_error.ts";
import type { Folder, OpenFile, Root } from "../disk/root.ts";

import { serializePath, type SharePath } from "../disk/share_path.ts";
import { TimeSlice } from "../disk/time_slice.ts";
import { listEntries } from "../serve/listing.ts";
import type { DeadProperties } from "./dead_properties.ts";
import type { LockTable } from "./locks.ts";
import { describeProperties, type Resource, type Wanted } from "./properties.ts";
import { findElement, getElements, isDav, readXml, XML_HEAD, type XmlElement } from "./xml.ts";

/** What WebDAV knows of a share: its files, the locks on them, and properties that clients gave them. */
export interface DavState {
  readonly root: Root;
  readonly locks: LockTable;
  readonly dead: DeadProperties;
  readonly writable: boolean;
}

/** Bytes of an answer that are sent at once. */
const PIECE = 64 * 1024;

/**
 * Answers PROPFIND (RFC 4918, section 9.1) for a file, a folder, or with `Depth: 1` a folder and what is in it.
 * A file has no members, so any depth is fine for it; RFC 4918 takes a missing Depth as infinity.
 * @throws HttpError 403 for a folder with infinite depth, 400 for a malformed body or Depth, 404
 */
export async function answerPropfind(request: Request, path: SharePath, state: DavState): Promise<Response> {
  const depth = readDepth(request);
  const wanted = readWanted(await readXml(request));
  const opened = state.root.open(path.segments);
  const error = opened.kind === "folder"
    ? (depth === "infinity" ? refuseDepth() : null)
    : path.isFolder
    ? noSuchEntry()
    : null;
  if (error !== null) {
    opened.close();
    throw error;
  }
  return answerMultiStatus(streamPieces(describeAll(request, path, opened, wanted, depth, state)));
}

type Depth = "0" | "1" | "infinity";

function readDepth(request: Request): Depth {
  const depth = request.headers.get("depth")?.trim().toLowerCase() ?? "infinity";
  if (depth === "0" || depth === "1" || depth === "infinity") return depth;
  throw new HttpError(400, "bad_depth", "Depth is 0, 1 or infinity.");
}

function refuseDepth(): HttpError {
  return new HttpError(403, "propfind-finite-depth", "Ask for one folder at a time, with Depth: 1.");
}

function readWanted(body: XmlElement | null): Wanted {
  if (body === null) return { kind: "all", include: [] };
  if (!isDav(body, "propfind")) throw badBody();
  const some = findElement(body, "prop");
  if (some !== undefined) return { kind: "some", properties: getElements(some) };
  if (findElement(body, "propname") !== undefined) return { kind: "names" };
  if (findElement(body, "allprop") === undefined) throw badBody();
  const include = findElement(body, "include");
  return { kind: "all", include: include === undefined ? [] : getElements(include) };
}

function badBody(): HttpError {
  return new HttpError(400, "bad_xml", "PROPFIND takes a propfind element with prop, propname or allprop in it.");
}

/** Answers 207 with the `response` elements in `body`. */
export function answerMultiStatus(body: ReadableStream<Uint8Array<ArrayBuffer>> | string): Response {
  return new Response(body, {
    status: 207,
    headers: { "content-type": "application/xml; charset=utf-8", "cache-control": "no-store" },
  });
}

async function* describeAll(
  { signal }: Request,
  { segments }: SharePath,
  opened: OpenFile | Folder,
  wanted: Wanted,
  depth: Depth,
  state: DavState,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const encoder = new TextEncoder();
  const slice = new TimeSlice();
  const describe = (names: readonly string[], kind: Resource["kind"], stat: fs.Stats) =>
    describeResource(wanted, names, kind, stat, state);
  try {
    let text = `${XML_HEAD}<D:multistatus xmlns:D="DAV:">` + describe(segments, opened.kind, fs.fstatSync(opened.fd));
    const members = opened.kind === "folder" && depth === "1" ? listEntries(state.root, opened) : [];
    for (const entry of members) {
      if (slice.isOver) await slice.next(signal);
      const stat = entry === null || opened.kind === "file" ? null : statMember(state.root, opened, entry.name);
      if (entry !== null && stat !== null) text += describe([...segments, entry.name], entry.kind, stat);
      if (text.length < PIECE) continue;
      yield encoder.encode(text);
      text = "";
    }
    yield encoder.encode(`${text}</D:multistatus>\n`);
  } finally {
    opened.close();
  }
}

/** The state of what has just been seen in a folder; null when it has gone meanwhile or a link to it leads elsewhere. */
function statMember(root: Root, folder: Folder, name: string): fs.Stats | null {
  const stat = fs.lstatSync(`${folder.path}/${name}`, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isSymbolicLink()) return stat ?? null;
  try {
    const opened = root.open([...folder.segments, name], true);
    try {
      return fs.fstatSync(opened.fd);
    } finally {
      opened.close();
    }
  } catch {
    return null;
  }
}

function describeResource(
  wanted: Wanted,
  segments: readonly string[],
  kind: Resource["kind"],
  stat: fs.Stats,
  { root, locks, dead, writable }: DavState,
): string {
  const resource = {
    segments,
    kind,
    stat,
    shareName: root.name,
    locks: locks.covering(segments),
    writable,
    diskPath: root.path,
  };
  const properties = describeProperties(wanted, resource, dead.get(segments));
  return describeResponse(segments, kind === "folder", properties);
}

/** One `response` of a multi-status body. */
export function describeResponse(segments: readonly string[], isFolder: boolean, content: string): string {
  return `<D:response><D:href>${
    serializePath(segments, isFolder).replaceAll("'", "%27")
  }</D:href>${content}</D:response>`;
}
