import fs from "node:fs";
import { createEntityTag, getMediaType } from "../../../net/file_http/mod.ts";
import { serializePath, unmaskName } from "../disk/share_path.ts";
import type { Lock } from "./locks.ts";
import { DAV, escapeXml, serializeXml, type XmlElement } from "./xml.ts";

/** What is asked about: a file or a folder that a visitor may see. */
export interface Resource {
  readonly segments: readonly string[];
  readonly kind: "file" | "folder";
  readonly stat: fs.Stats;
  /** Shown for the share itself, which has no name in any address. */
  readonly shareName: string;
  readonly locks: readonly Lock[];
  /** Whether it can be changed, and so locked. */
  readonly writable: boolean;
  /** A folder to ask the file system about. */
  readonly diskPath: string;
}

type Describe = (resource: Resource) => string | null;

/** The properties that we know of everything (RFC 4918, section 15): content as XML, null where there is none. */
const LIVE: Readonly<Record<string, Describe>> = {
  resourcetype: ({ kind }) => kind === "folder" ? "<D:collection/>" : "",
  displayname: ({ segments, shareName }) => escapeXml(unmaskName(segments.at(-1) ?? shareName)),
  getlastmodified: ({ stat }) => new Date(stat.mtimeMs).toUTCString(),
  creationdate: ({ stat }) => stat.birthtimeMs > 0 ? new Date(stat.birthtimeMs).toISOString() : null,
  getcontentlength: ({ kind, stat }) => kind === "file" ? String(stat.size) : null,
  getcontenttype: ({ kind, segments }) => kind === "file" ? escapeXml(getMediaType(segments.at(-1) ?? "")) : null,
  getetag: ({ kind, stat }) => kind === "file" ? escapeXml(createEntityTag(stat)) : null,
  supportedlock: ({ writable }) => writable ? LOCK_KINDS : "",
  lockdiscovery: ({ locks }) => locks.map(describeLock).join(""),
  "quota-available-bytes": (resource) => describeDisk(resource, ({ bavail, bsize }) => bavail * bsize),
  "quota-used-bytes": (resource) => describeDisk(resource, ({ blocks, bfree, bsize }) => (blocks - bfree) * bsize),
};
/** RFC 4331 keeps them out of `allprop`: they cost a look at the disk. */
const ASKED_ONLY = ["quota-available-bytes", "quota-used-bytes"];
const ALL = Object.keys(LIVE).filter((name) => !ASKED_ONLY.includes(name));

const LOCK_KINDS = ["exclusive", "shared"]
  .map((scope) =>
    `<D:lockentry><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>`
  ).join("");

function describeDisk({ kind, writable, diskPath }: Resource, count: (disk: fs.StatsFs) => number): string | null {
  return kind === "folder" && writable ? String(count(fs.statfsSync(diskPath))) : null;
}

/** A lock as `lockdiscovery` tells of it. */
export function describeLock({ token, segments, isDeep, isExclusive, owner, seconds }: Lock): string {
  return `<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:${isExclusive ? "exclusive" : "shared"}/>` +
    `</D:lockscope><D:depth>${isDeep ? "infinity" : "0"}</D:depth>${owner}<D:timeout>Second-${seconds}</D:timeout>` +
    `<D:locktoken><D:href>${token}</D:href></D:locktoken>` +
    `<D:lockroot><D:href>${escapeXml(serializePath(segments, false) || "/")}` +
    `</D:href></D:lockroot></D:activelock>`;
}

/** Whether a property is one of ours, which clients cannot set. */
export function isLive({ namespace, name }: Pick<XmlElement, "namespace" | "name">): boolean {
  return namespace === DAV && Object.hasOwn(LIVE, name);
}

/** The name of a property in one text. */
export function toPropertyKey({ namespace, name }: Pick<XmlElement, "namespace" | "name">): string {
  return `{${namespace}}${name}`;
}

/** Which properties a PROPFIND asks for. */
export type Wanted =
  | { kind: "all"; include: readonly XmlElement[] }
  | { kind: "names" }
  | { kind: "some"; properties: readonly XmlElement[] };

/** The `propstat` elements for one resource. */
export function describeProperties(wanted: Wanted, resource: Resource, dead: ReadonlyMap<string, string>): string {
  if (wanted.kind === "names") {
    const live = Object.keys(LIVE).filter((name) => LIVE[name](resource) !== null).map((name) => `<D:${name}/>`);
    return describeStatus(live.join("") + [...dead.keys()].map(describeName).join(""), 200);
  }
  if (wanted.kind === "all") {
    const live = ALL.map((name) => describeLive(name, resource) ?? "").join("");
    const more = wanted.include.filter(({ name }) => !ALL.includes(name));
    const rest = more.map((property) => describeOne(property, resource, dead) ?? "").join("");
    return describeStatus(live + [...dead.values()].join("") + rest, 200);
  }
  let [found, missing] = ["", ""];
  for (const property of wanted.properties) {
    const text = describeOne(property, resource, dead);
    if (text === null) missing += serializeXml({ ...property, attributes: [], children: [] });
    else found += text;
  }
  const ends = describeStatus(found, 200) + describeStatus(missing, 404);
  return ends === "" ? describeStatus("", 200, true) : ends;
}

function describeOne(property: XmlElement, resource: Resource, dead: ReadonlyMap<string, string>): string | null {
  return isLive(property) ? describeLive(property.name, resource) : dead.get(toPropertyKey(property)) ?? null;
}

function describeLive(name: string, resource: Resource): string | null {
  const content = LIVE[name](resource);
  if (content === null) return null;
  return content === "" ? `<D:${name}/>` : `<D:${name}>${content}</D:${name}>`;
}

function describeName(key: string): string {
  const end = key.lastIndexOf("}");
  return serializeXml({ namespace: key.slice(1, end), name: key.slice(end + 1), attributes: [], children: [] });
}

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  403: "Forbidden",
  404: "Not Found",
  424: "Failed Dependency",
};

/** A `propstat` with properties of one status; nothing for none of them. */
export function describeStatus(properties: string, status: number, isEvenEmpty = false): string {
  if (properties === "" && !isEvenEmpty) return "";
  return `<D:propstat><D:prop>${properties}</D:prop><D:status>HTTP/1.1 ${status} ${
    REASONS[status]
  }</D:status></D:propstat>`;
}
