/** Parses a request head in a slow and simple way, to check the fast parser. For tests. */

/** A head as text with one character per byte. */
export interface RequestReading {
  method: string;
  path: string;
  host: string;
  minorVersion: 0 | 1;
  fields: [name: string, value: string][];
  framing: "none" | "length" | "chunked";
  length: number;
  expectation: "none" | "continue" | "unknown";
  close: boolean;
  keepAlive: boolean;
  /** The requested protocol for an upgrade, or null. */
  upgrade: string | null;
}

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const LINE = new RegExp(`^(${TOKEN}) ([\\x21-\\x7e\\x80-\\xff]+) HTTP/1\\.([01])$`);
const FIELD = new RegExp(`^(${TOKEN}):([\\t\\x20-\\x7e\\x80-\\xff]*)$`);
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/is;
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.~!$&'()*+,;=%-]+)(:[0-9]{1,5})?$/;

/** Parses a head that ends with its blank line. Returns null for a rejected head. */
export function readRequest(head: string, maxFields: number): RequestReading | null {
  const [line, ...rest] = head.slice(0, -4).split("\r\n");
  const [, method, sentTarget, minor] = LINE.exec(line) ?? [];
  if (!head.endsWith("\r\n\r\n") || method === undefined || rest.length > maxFields) return null;
  const fields: [string, string][] = [];
  for (const text of rest) {
    const [, name, value] = FIELD.exec(text) ?? [];
    if (name === undefined) return null;
    fields.push([name, trim(value)]);
  }
  const all = (wanted: string) => fields.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
  const minorVersion = minor === "1" ? 1 : 0;
  const place = readTarget(method, sentTarget);
  const framing = readFraming(all("content-length"), all("transfer-encoding"), minorVersion);
  const hosts = all("host"), upgrades = all("upgrade");
  if (place === null || framing === null || hosts.length > 1 || upgrades.length > 1) return null;
  if (hosts.length === 0 && minorVersion === 1) return null;
  if ([...hosts, ...place.host === null ? [] : [place.host]].some((host) => !HOST.test(host))) return null;
  const connection = listOf(all("connection")), upgradeWords = listOf(upgrades);
  const asksUpgrade = connection.includes("upgrade") && minorVersion === 1 && upgrades.join() !== "";
  const expects = all("expect").map((value) => value.toLowerCase());
  return {
    method,
    path: place.target,
    host: place.host ?? hosts[0] ?? "",
    minorVersion,
    fields,
    ...framing,
    expectation: expects.length === 0
      ? "none"
      : expects.every((word) => word === "100-continue")
      ? "continue"
      : "unknown",
    close: connection.includes("close"),
    keepAlive: connection.includes("keep-alive"),
    upgrade: asksUpgrade && !upgradeWords.includes("h2c") ? upgrades[0] : null,
  };
}

const trim = (value: string) => value.replace(/^[ \t]+|[ \t]+$/g, "");

const listOf = (values: string[]) => values.join(",").toLowerCase().split(",").map(trim);

function readTarget(method: string, sent: string): { host: string | null; target: string } | null {
  if (method === "CONNECT") return null;
  if (sent.startsWith("/")) return { host: null, target: sent };
  if (sent === "*" && method === "OPTIONS") return { host: null, target: "*" };
  const [, host, path] = ABSOLUTE.exec(sent) ?? [];
  if (host === undefined) return null;
  return { host, target: path.startsWith("/") ? path : `/${path}` };
}

function readFraming(lengths: string[], codings: string[], minorVersion: number) {
  if (lengths.length + codings.length > 1) return null;
  if (codings.length === 1) {
    return codings[0].toLowerCase() === "chunked" && minorVersion === 1
      ? { framing: "chunked" as const, length: 0 }
      : null;
  }
  if (lengths.length === 0) return { framing: "none" as const, length: 0 };
  if (!/^[0-9]{1,15}$/.test(lengths[0])) return null;
  const length = Number(lengths[0]);
  return { framing: length > 0 ? "length" as const : "none" as const, length };
}

const SIZE_LINE = /^([0-9A-Fa-f]+)(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n/;
const SIZE_LINE_BEGUN = /^(?:[0-9A-Fa-f]+(?:;[\t\x20-\x7e\x80-\xff]*)?\r?)?$/;
const TRAILERS = new RegExp(`^((?:${TOKEN}:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n)*)\\r\\n`);
const TRAILERS_BEGUN = new RegExp(
  `^(?:${TOKEN}:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n)*(?:\\r|${TOKEN}|${TOKEN}:[\\t\\x20-\\x7e\\x80-\\xff]*\\r?)?$`,
);

/** A chunked body and its length in characters. */
export interface BodyReading {
  data: string;
  trailers: string;
  taken: number;
}

/**
 * Parses a chunked body at the start of a text. Returns "short" for an incomplete body, and null for a rejected one.
 */
export function readChunked(text: string): BodyReading | "short" | null {
  let data = "", rest = text;
  for (;;) {
    const [line, digits] = SIZE_LINE.exec(rest) ?? [];
    if (line === undefined) return SIZE_LINE_BEGUN.test(rest) && sizeFits(rest) ? "short" : null;
    const size = parseInt(digits, 16);
    if (size > Number.MAX_SAFE_INTEGER) return null;
    rest = rest.slice(line.length);
    if (size === 0) break;
    const end = rest.slice(size, size + 2);
    if (!"\r\n".startsWith(end)) return null;
    if (end.length < 2) return "short";
    data += rest.slice(0, size);
    rest = rest.slice(size + 2);
  }
  const [all, trailers] = TRAILERS.exec(rest) ?? [];
  if (all === undefined) return TRAILERS_BEGUN.test(rest) ? "short" : null;
  return { data, trailers, taken: text.length - rest.length + all.length };
}

const sizeFits = (line: string) => !(parseInt(line, 16) > Number.MAX_SAFE_INTEGER);

/** One request on a connection, as its handler sees it. */
export interface ConnectionReading {
  request: RequestReading;
  body: string;
}

/** Returns all complete requests on a connection, up to the first rejected or incomplete one. */
export function readConnection(text: string, maxFields: number): ConnectionReading[] {
  const requests: ConnectionReading[] = [];
  for (let rest = text;;) {
    while (rest.startsWith("\r\n")) rest = rest.slice(2);
    const end = rest.indexOf("\r\n\r\n");
    const request = end < 0 ? null : readRequest(rest.slice(0, end + 4), maxFields);
    if (request === null || request.expectation === "unknown") return requests;
    rest = rest.slice(end + 4);
    let body = rest.slice(0, request.length);
    if (body.length < request.length) return requests;
    if (request.framing === "chunked") {
      const reading = readChunked(rest);
      if (reading === null || reading === "short") return requests;
      body = reading.data;
      rest = rest.slice(reading.taken);
    } else rest = rest.slice(request.length);
    requests.push({ request, body });
    if (request.close || (request.minorVersion === 0 && !request.keepAlive)) return requests;
  }
}
