import { createConnectionPair } from "../../../net/connection/mod.ts";
import type { Connection } from "../../../net/connection/mod.ts";
import { decodeLatin1, encodeLatin1, RequestHead } from "../../../net/http1/mod.ts";
import { BodyCut, type Exchange, type ResponseWriter } from "../../../net/listener/mod.ts";

/** The response as tests check it. */
export interface Replied {
  /** Status and block of each interim response. */
  informs: string[];
  /** 0 before the response begins. */
  status: number;
  block: string;
  length: number | null;
  body: string;
  /** The kind of end, or null. */
  end: "complete" | "cut" | null;
  trailers: string;
}

/** A visitor's request without a listener. */
export interface FakeExchange extends Exchange {
  readonly replied: Replied;
  /** The visitor's end of an upgraded connection. */
  readonly visitorEnd: Connection | null;
  /** Whether the upgraded connection was closed during a write. */
  readonly wasCutShort: boolean;
  /** Resolves when the response has ended. */
  readonly answered: Promise<Replied>;
  /** Disconnects the visitor. */
  leave(): void;
  /** Lets a write finish that `stalls` holds. */
  take(): void;
}

/** Options for a visitor's request; `GET /` over HTTP/1.1 by default. */
export interface FakeExchangeOptions {
  method?: string;
  target?: string;
  host?: string;
  version?: "1.0" | "1.1";
  remoteAddress?: string;
  /** Fields as sent, without `host`. */
  fields?: [string, string][];
  /** Chunks of the body. If the iterator throws, reading fails with that error. */
  body?: AsyncIterable<Uint8Array>;
  trailers?: string;
  /** Holds writes until {@link FakeExchange.take}. */
  stalls?: boolean;
}

/** Creates a request as a listener does, with the listener's head parser. */
export function createExchange(options: FakeExchangeOptions = {}): FakeExchange {
  const { method = "GET", target = "/", host = "a.try.localhost", version = "1.1", fields = [], body = null } = options;
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const bytes = encodeLatin1(`${method} ${target} HTTP/${version}\r\nHost: ${host}\r\n${lines}\r\n`);
  const head = new RequestHead();
  if (!head.parse(bytes, 0, bytes.length, 1000)) throw new Error("the head is incomplete");
  const abort = new AbortController();
  const source = body?.[Symbol.asyncIterator]();
  const response = new FakeResponseWriter(options.stalls ?? false);
  const exchange: FakeExchange = {
    method,
    path: head.path,
    host: head.host,
    remoteAddress: options.remoteAddress ?? "192.0.2.1",
    secure: false,
    httpVersion: version,
    head,
    headers: fields.flatMap(([name, value]) => [name.toLowerCase(), value]),
    rawHeaders: fields.flat(),
    hasBody: body !== null,
    get body(): never {
      throw new Error("the relay reads bodies by readBody");
    },
    async readBody() {
      if (response.replied.end !== null) throw new BodyCut("the response is complete");
      const next = await source?.next();
      return next?.value ?? null;
    },
    trailers: encodeLatin1(options.trailers ?? ""),
    signal: abort.signal,
    onLeave: null,
    get request(): Request {
      return new Request(`http://${host}${target}`, { method });
    },
    header: (name) => head.values(name),
    upgrade: head.upgrade ? head.value(head.upgradeField) : null,
    isWebSocket: head.upgrade,
    response,
    replied: response.replied,
    get visitorEnd() {
      return response.visitorEnd;
    },
    get wasCutShort() {
      return response.wasCutShort;
    },
    answered: response.answered,
    leave() {
      abort.abort();
      exchange.onLeave?.();
    },
    take: () => response.take(),
  };
  return exchange;
}

class FakeResponseWriter implements ResponseWriter {
  readonly replied: Replied = { informs: [], status: 0, block: "", length: null, body: "", end: null, trailers: "" };
  readonly answered: Promise<Replied>;
  visitorEnd: Connection | null = null;
  wasCutShort = false;
  readonly #stalls: boolean;
  #resolve!: (replied: Replied) => void;
  #take: (() => void) | null = null;

  constructor(stalls: boolean) {
    this.#stalls = stalls;
    this.answered = new Promise((resolve) => this.#resolve = resolve);
  }

  get begun(): boolean {
    return this.replied.status !== 0;
  }

  inform(status: number, block: Uint8Array): void {
    this.replied.informs.push(`${status} ${text(block)}`);
  }

  begin(status: number, block: Uint8Array, length: number | null, body: Uint8Array, end: boolean): void {
    if (this.begun) return;
    Object.assign(this.replied, { status, block: text(block), length, body: text(body) });
    if (end) this.#finish("complete");
  }

  async write(piece: Uint8Array, end = false): Promise<void> {
    if (this.replied.end !== null) return;
    if (this.#stalls) await new Promise<void>((resolve) => this.#take = resolve);
    this.replied.body += text(piece);
    if (end) this.#finish("complete");
  }

  end(trailers: Uint8Array = new Uint8Array(0)): void {
    this.replied.trailers = text(trailers);
    this.#finish("complete");
  }

  cut(): void {
    this.#finish("cut");
  }

  switchProtocols(block: Uint8Array): Connection {
    Object.assign(this.replied, { status: 101, block: text(block) });
    const [connection, visitorEnd] = createConnectionPair();
    this.visitorEnd = visitorEnd;
    let writes = 0;
    return {
      read: (into) => connection.read(into),
      write: (bytes) => {
        writes++;
        return connection.write(bytes).finally(() => writes--);
      },
      closeWrite: () => connection.closeWrite(),
      close: () => {
        this.wasCutShort ||= writes > 0;
        connection.close();
      },
    };
  }

  take(): void {
    this.#take?.();
    this.#take = null;
  }

  #finish(end: "complete" | "cut"): void {
    this.replied.end ??= end;
    this.#resolve(this.replied);
  }
}

const text = (bytes: Uint8Array) => decodeLatin1(bytes, 0, bytes.length);
