import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Connection } from "../../../connection/mod.ts";
import { CONNECTION_FIELDS, decodeLatin1 } from "../../../http1/mod.ts";
import type { ListenerLimits } from "../../limits.ts";
import type { Reply } from "../../types.ts";

/** Fields that HTTP/2 has no use for (RFC 9113, section 8.2.2), and node:http2 refuses. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  ...CONNECTION_FIELDS.filter((name) => name !== "trailer"),
  "http2-settings",
]);

/** An answer in bytes, written to a stream of node:http2. */
export class NodeReply implements Reply {
  begun = false;
  /** Nothing more can be said. */
  isOver = false;
  isCut = false;
  /** Called once the answer is complete. */
  onOver: () => void = () => {};
  readonly #stream: ServerHttp2Stream;
  readonly #isHead: boolean;
  #isBodiless = false;
  #left: number | null = null;
  #trailers: Uint8Array = NOTHING;
  /** Bytes handed over that the visitor has not taken yet, and for how many seconds. */
  #waiting = 0;
  #waited = 0;

  constructor(stream: ServerHttp2Stream, isHead: boolean) {
    this.#stream = stream;
    this.#isHead = isHead;
    stream.on("wantTrailers", () => stream.sendTrailers(parseLines(this.#trailers)));
  }

  inform(status: number, block: Uint8Array): void {
    if (this.begun || this.#isGone) return;
    this.#stream.additionalHeaders({ ...parseBlock(block), ":status": status });
  }

  begin(status: number, block: Uint8Array, length: number | null, body: Uint8Array, end: boolean): void {
    if (this.begun || this.#isGone) return;
    this.begun = true;
    this.#isBodiless = this.#isHead || status === 204 || status === 205 || status === 304;
    const fields: OutgoingHttpHeaders = { ...parseBlock(block), ":status": status };
    if (status === 204) delete fields["content-length"];
    if (this.#isBodiless || (end && body.length === 0)) {
      this.#stream.respond(fields, { endStream: true });
      return this.#finish();
    }
    this.#left = length;
    this.#stream.respond(fields, { waitForTrailers: true });
    if (body.length > 0) void this.write(body.slice(), end);
    else if (end) this.end();
  }

  write(piece: Uint8Array, end = false): Promise<void> {
    if (this.isOver || this.#isGone || this.#isBodiless) return Promise.resolve();
    if (this.#left !== null && (this.#left -= piece.length) < 0) {
      this.cut();
      return Promise.resolve();
    }
    [this.#waiting, this.#waited] = [piece.length, 0];
    const written = new Promise<void>((resolve) => {
      // A visitor who leaves takes it in a way, too.
      this.#stream.once("close", resolve);
      this.#stream.write(piece, () => {
        this.#waiting = 0;
        this.#stream.off("close", resolve);
        resolve();
      });
    });
    if (end) this.end();
    return written;
  }

  end(trailers: Uint8Array = NOTHING): void {
    if (this.isOver || this.#isGone) return;
    if (this.#left !== null && this.#left > 0) return this.cut();
    this.#trailers = trailers;
    this.#stream.end();
    this.#finish();
  }

  cut(): void {
    this.isOver = this.isCut = true;
    if (!this.#isGone) this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  /** Asked once a second: whether the visitor has stopped taking the answer. */
  isStalled({ stallSeconds, bodyRate }: ListenerLimits): boolean {
    if (this.#waiting === 0) return false;
    return ++this.#waited > stallSeconds + this.#waiting / bodyRate;
  }

  switchProtocols(): Connection {
    throw new TypeError("HTTP/2 has no upgrades");
  }

  get #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  #finish(): void {
    this.isOver = true;
    if (this.#stream.writableFinished) this.onOver();
    else this.#stream.once("finish", () => this.onOver());
  }
}

const NOTHING = new Uint8Array(0);

/** The fields of a block that was checked; HTTP/2 has no reason phrase. */
function parseBlock(block: Uint8Array): OutgoingHttpHeaders {
  let start = 0;
  while (start < block.length && block[start] !== 0x0a) start++;
  return parseLines(block.subarray(start + 1));
}

/** Field lines, those of one name together. */
function parseLines(lines: Uint8Array): OutgoingHttpHeaders {
  const fields: Record<string, string | string[]> = {};
  for (const line of decodeLatin1(lines, 0, lines.length).split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon).toLowerCase(), value = line.slice(colon + 1).trim(), before = fields[name];
    if (OF_THE_CONNECTION.has(name)) continue;
    if (before === undefined) fields[name] = value;
    else if (Array.isArray(before)) before.push(value);
    // Node sends these once only, and so does every service.
    else if (!SINGLE.has(name)) fields[name] = [before, value];
  }
  return fields;
}

/** What node:http2 refuses to send twice. */
const SINGLE: ReadonlySet<string> = new Set([
  "access-control-allow-credentials",
  "access-control-max-age",
  "age",
  "authorization",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-md5",
  "content-range",
  "content-type",
  "date",
  "dnt",
  "etag",
  "expires",
  "from",
  "host",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-modified",
  "location",
  "max-forwards",
  "proxy-authorization",
  "range",
  "referer",
  "retry-after",
  "tk",
  "upgrade-insecure-requests",
  "user-agent",
  "x-content-type-options",
]);
