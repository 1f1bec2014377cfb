/** Limits that are no options, read where the code has them, so that what is written of them is so. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** How the number of a limit is written. A rate is `{ burst, perMinute }`. */
type Unit = "count" | "bytes" | "ms" | "seconds" | "rate";

/** A limit: what it bounds, the unit, the folder or file it is in, and the name of its constant or default. */
export type FixedLimit = readonly [what: string, unit: Unit, place: string, name: string];

/** What visitors of `-f`, `-fw` and `-w` may take. */
export const SHARING_LIMITS: readonly FixedLimit[] = [
  ["path and query of a request", "bytes", "client/files/disk", "MAX_PATH"],
  ["folders inside one another in a path", "count", "client/files/disk", "MAX_DEPTH"],
  ["matches of a search", "count", "client/files/serve", "maxMatches"],
  ["entries that a search looks at", "count", "client/files/serve", "maxEntries"],
  ["folders that a search or an archive enters once more, through links", "count", "client/files/serve", "MAX_REPEATS"],
  ["form that asks for an archive of many names", "bytes", "client/files/share.ts", "MAX_FORM"],
  ["names told of in `portway-left-out.txt`; the rest are counted", "count", "client/files/archive", "MAX_LEFT_OUT"],
  ["file that is coded as zstd, br or gzip on its way", "bytes", "net/file_http", "MAX_CODED"],
  ["visitors who follow changes of folders at a time", "count", "client/files/serve", "MAX_LISTENERS"],
  ["uploads under way or cut off; the oldest of those go", "count", "client/files/upload", "MAX_UPLOADS"],
  ["time that an upload is kept which nobody continues", "ms", "client/files/upload", "KEPT_MS"],
  ["finished uploads that are known when they are sent again", "count", "client/files/upload", "MAX_COMPLETED"],
  ["files in one form", "count", "client/files/upload", "MAX_FILES"],
  ["entries in the trash; the oldest go", "count", "client/files/change", "MAX_ENTRIES"],
  ["time that something stays in the trash", "ms", "client/files/change", "KEPT_MS"],
  ["wrong passphrases of an address, or IPv6 network of 64 bits", "rate", "client/files/sign_in", "PER_ADDRESS"],
  ["wrong passphrases of everybody together", "rate", "client/files/sign_in", "FROM_EVERYONE"],
  ["time for which a passphrase is not asked for again", "seconds", "client/files/sign_in", "SESSION_SECONDS"],
  ["WebDAV: locks at a time", "count", "client/files/dav", "MAX_LOCKS"],
  ["WebDAV: time of a lock that is not renewed", "seconds", "client/files/dav", "MAX_SECONDS"],
  ["WebDAV: properties that clients have set, all together", "bytes", "client/files/dav", "MAX_SIZE"],
  ["WebDAV: body of a request in XML", "bytes", "client/files/dav", "MAX_BODY"],
  ["WebDAV: conditions in one `If`", "count", "client/files/dav", "MAX_PARTS"],
  ["`--live`: pages that wait for changes at a time", "count", "client/site", "MAX_LISTENERS"],
  ["`--live`: page that gets the script that reloads it", "bytes", "client/site", "MAX_PAGE"],
  ["page: files sent at a time", "count", "client/files/assets", "PARALLEL"],
  ["page: slice in which a larger file is sent", "bytes", "client/files/assets", "SLICE"],
  ["page: text shown in a preview", "bytes", "client/files/assets", "MAX_TEXT"],
];

/** What bounds the client itself. */
export const CLIENT_LIMITS: readonly FixedLimit[] = [
  ["requests that a session answers at a time", "count", "client/tunnel", "MAX_STREAMS"],
  ["WebSockets and other upgrades besides", "count", "client/tunnel", "MAX_UPGRADES"],
  ["connections to the local service that are being opened at a time", "count", "client/tunnel", "DIALING"],
  ["head of what the local service answers", "bytes", "net/http1", "MAX_RESPONSE_HEAD"],
  ["header fields in it", "count", "net/http1", "MAX_FIELDS"],
  ["time for which requests may still run after Ctrl+C", "ms", "client/tunnel", "DRAIN_MS"],
  ["wait before another attempt to connect", "ms", "client/tunnel", "LONGEST_WAIT_MS"],
  ["time for one attempt, and for one call to the server", "ms", "client/api", "TIMEOUT_MS"],
  ["tunnels kept for `--resume`", "count", "client/tunnel", "MAX_SAVED"],
  ["time for a login in the browser", "ms", "client/login", "LONGEST_MS"],
  ["time for the local service to answer a call that is delivered", "ms", "client/views", "TIMEOUT_MS"],
  ["lines of a captured body in the terminal", "count", "client/views", "MAX_LINES"],
  ["lines that wait for who reads the output, of which the older half goes", "bytes", "common/output", "MAX_WAITING"],
];

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/**
 * What a limit is, in words, as `4 MiB` or `1,000`.
 * @throws Error when its place has no such number, or several
 */
export function readLimit([what, unit, place, name]: FixedLimit): string {
  const pattern = unit === "rate"
    ? new RegExp(`\\b${name} = \\{ burst: (\\d+), perMinute: (\\d+) \\}`, "g")
    : new RegExp(`\\b${name} = (\\d[\\d_ *]*)(?=;|,| })`, "g");
  const found = [...readSources(join(ROOT, place)).matchAll(pattern)];
  if (found.length !== 1) throw new Error(`${what}: ${place} has ${found.length} of ${name}, and one is wanted`);
  const [, first, second] = found[0];
  return unit === "rate" ? `${first} at once, ${second} a minute` : WRITE[unit](multiply(first));
}

const multiply = (text: string): number =>
  text.split("*").reduce((product, factor) => product * Number(factor.replaceAll("_", "")), 1);

const count = (value: number): string => value.toLocaleString("en-US");

const WRITE: Readonly<Record<Exclude<Unit, "rate">, (value: number) => string>> = {
  count,
  bytes(value) {
    if (value % 2 ** 20 === 0) return `${count(value / 2 ** 20)} MiB`;
    return value % 1024 === 0 ? `${count(value / 1024)} KiB` : `${count(value)} bytes`;
  },
  ms: (value) => value % 1000 === 0 ? WRITE.seconds(value / 1000) : `${count(value)} ms`,
  seconds(value) {
    if (value % 3600 === 0) return value === 3600 ? "1 hour" : `${value / 3600} hours`;
    return value % 60 === 0 && value > 60 ? `${value / 60} minutes` : `${value} seconds`;
  },
};

/** The text of a module, or of a folder's, one after the other, without those of tests. */
function readSources(place: string): string {
  if (place.endsWith(".ts")) return readFileSync(place, "utf8");
  return readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|js)$/.test(entry.name) && !/_test\.(?:ts|js)$/.test(entry.name))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8")).join("\n");
}
