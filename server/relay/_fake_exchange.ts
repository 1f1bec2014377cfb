import type { Exchange, ServerSocket, UpgradeOptions } from "../../common/listener/mod.ts";

/** A visitor's request without a listener, and what tests look at of it. */
export interface FakeExchange extends Exchange {
  /** The visitor goes away. */
  leave(): void;
  /** What the WebSocket was accepted with. */
  accepted: UpgradeOptions | null;
}

export interface FakeExchangeOptions {
  method?: string;
  target?: string;
  host?: string;
  remoteAddress?: string;
  headers?: [string, string][];
  body?: ReadableStream<Uint8Array<ArrayBuffer>>;
  webSocket?: boolean;
  ends205?: boolean;
}

export function createExchange(options: FakeExchangeOptions = {}): FakeExchange {
  const { method = "GET", target = "/", host = "a.try.localhost", headers = [], body = null } = options;
  const abort = new AbortController();
  const exchange: FakeExchange = {
    takesChunks: true,
    ends205: options.ends205 ?? true,
    method,
    target,
    host,
    remoteAddress: options.remoteAddress ?? "192.0.2.1",
    secure: false,
    headers: headers.flat(),
    hasBody: body !== null,
    body,
    signal: abort.signal,
    isWebSocket: options.webSocket ?? false,
    accepted: null,
    get request(): Request {
      return new Request(`http://${host}${target}`, { method });
    },
    header: (name) => headers.filter(([known]) => known === name).map(([, value]) => value).join(", ") || null,
    upgrade(upgrade) {
      exchange.accepted = upgrade;
      return new Response(null, { status: 200, headers: { upgraded: "yes" } });
    },
    leave: () => abort.abort(),
  };
  return exchange;
}

/** The visitor's end of a WebSocket, as far as a test looks at it. */
export function createSocket(): ServerSocket & { sent: (string | Uint8Array)[]; closed: unknown[] } {
  return {
    sent: [],
    closed: [],
    bufferedAmount: 0,
    send(data) {
      this.sent.push(data);
    },
    close(code, reason) {
      this.closed.push([code, reason]);
    },
  };
}
