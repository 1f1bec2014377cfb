/** Limits without an option, read from the source so that the documentation stays correct. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Unit of a limit. A rate is `{ burst, perMinute }`. */
type Unit = "count" | "bytes" | "ms" | "seconds" | "rate";

/** A limit: subject, unit, source folder or file, and the name of its constant or default. */
export type FixedLimit = readonly [subject: string, unit: Unit, path: string, name: string];

/** Limits for visitors of `-f`, `-fw` and `-w`. */
export const SHARING_LIMITS: readonly FixedLimit[] = [
  ["request path and query", "bytes", "client/files/disk", "MAX_PATH"],
  ["nested folders in a path", "count", "client/files/disk", "MAX_DEPTH"],
  ["search matches", "count", "client/files/serve", "maxMatches"],
  ["entries per search", "count", "client/files/serve", "maxEntries"],
  ["folders that a search or an archive enters again through links", "count", "client/files/serve", "MAX_REPEATS"],
  ["form with names for an archive", "bytes", "client/files/share.ts", "MAX_FORM"],
  ["names in `portway-left-out.txt`; it counts the others", "count", "client/files/archive", "MAX_LEFT_OUT"],
  ["file compressed with zstd, br or gzip", "bytes", "net/file_http", "MAX_CODED"],
  ["visitors that follow folder changes", "count", "client/files/serve", "MAX_LISTENERS"],
  ["unfinished uploads; the oldest are removed", "count", "client/files/upload", "MAX_UPLOADS"],
  ["lifetime of an unfinished upload", "ms", "client/files/upload", "KEPT_MS"],
  ["finished uploads that the share recognises when repeated", "count", "client/files/upload", "MAX_COMPLETED"],
  ["files in one form", "count", "client/files/upload", "MAX_FILES"],
  ["entries in the trash; the oldest are removed", "count", "client/files/change", "MAX_ENTRIES"],
  ["lifetime in the trash", "ms", "client/files/change", "KEPT_MS"],
  ["dot files of visitors without `--hidden`; the oldest are removed", "count", "client/files/change", "MAX_DOT_FILES"],
  ["lifetime of such a dot file", "ms", "client/files/change", "DOT_FILE_MS"],
  ["wrong passphrases per address or IPv6 /64", "rate", "client/files/sign_in", "PER_ADDRESS"],
  ["wrong passphrases in total", "rate", "client/files/sign_in", "FROM_EVERYONE"],
  ["lifetime of a passphrase session", "seconds", "client/files/sign_in", "SESSION_SECONDS"],
  ["WebDAV: locks", "count", "client/files/dav", "MAX_LOCKS"],
  ["WebDAV: lifetime of a lock", "seconds", "client/files/dav", "MAX_SECONDS"],
  ["WebDAV: stored properties in total", "bytes", "client/files/dav", "MAX_SIZE"],
  ["WebDAV: XML body", "bytes", "client/files/dav", "MAX_BODY"],
  ["WebDAV: conditions in one `If`", "count", "client/files/dav", "MAX_PARTS"],
  ["`_headers` and `_redirects`: file size", "bytes", "client/site", "MAX_RULE_FILE"],
  ["`_headers` and `_redirects`: rules per file", "count", "client/site", "MAX_RULES"],
  ["`--live`: pages that wait for changes", "count", "client/site", "MAX_LISTENERS"],
  ["`--live`: page size for the reload script", "bytes", "client/site", "MAX_PAGE"],
  ["page: parallel uploads", "count", "client/files/assets", "PARALLEL"],
  ["page: upload slice", "bytes", "client/files/assets", "SLICE"],
  ["page: preview text", "bytes", "client/files/assets", "MAX_TEXT"],
];

/** Limits in the client. */
export const CLIENT_LIMITS: readonly FixedLimit[] = [
  ["concurrent requests per session", "count", "client/tunnel", "MAX_STREAMS"],
  ["additional WebSockets and other upgrades", "count", "client/tunnel", "MAX_UPGRADES"],
  ["connections to the local service that open at once", "count", "client/tunnel", "DIALING"],
  ["response head from the local service", "bytes", "net/http1", "MAX_RESPONSE_HEAD"],
  ["header fields in that head", "count", "net/http1", "MAX_FIELDS"],
  ["time for running requests after Ctrl+C", "ms", "client/tunnel", "DRAIN_MS"],
  ["delay between connection attempts", "ms", "client/tunnel", "LONGEST_WAIT_MS"],
  ["time for one connection attempt or API call", "ms", "client/api", "TIMEOUT_MS"],
  ["stored tunnels for `--resume`", "count", "client/tunnel", "MAX_SAVED"],
  ["time for a login in the browser", "ms", "client/login", "LONGEST_MS"],
  ["lines from a captured body in the terminal", "count", "client/views", "MAX_LINES"],
  ["unread output; the older half is dropped", "bytes", "common/output", "MAX_WAITING"],
];

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/**
 * Returns a limit as text, for example `4 MiB` or `1,000`.
 * @throws Error when its path has no such number, or several
 */
export function readLimit([subject, unit, path, name]: FixedLimit): string {
  const pattern = unit === "rate"
    ? new RegExp(`\\b${name} = \\{ burst: (\\d+), perMinute: (\\d+) \\}`, "g")
    : new RegExp(`\\b${name} = (\\d[\\d_ *]*)(?=;|,| })`, "g");
  const found = [...readSources(join(ROOT, path)).matchAll(pattern)];
  if (found.length !== 1) {
    throw new Error(`cannot read the limit "${subject}": ${path} has ${found.length} constants ${name}, not one`);
  }
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

/** Returns the source of a file, or all source in a folder without tests. */
function readSources(path: string): string {
  if (path.endsWith(".ts")) return readFileSync(path, "utf8");
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|js)$/.test(entry.name) && !/_test\.(?:ts|js)$/.test(entry.name))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8")).join("\n");
}
