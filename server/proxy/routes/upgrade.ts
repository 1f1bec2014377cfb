import { Buffer } from "node:buffer";
import { type Connection, splice } from "../../../net/connection/mod.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { ProxyResponse } from "../response.ts";
import { mayPassOn, plainResponse } from "../responses/stream.ts";
import { type AlarmClock, Deadline } from "../perform/deadline.ts";
import type { HeaderList } from "../describe/description.ts";
import { describeFetch, readFetchUrl } from "./fetch.ts";
import type { FollowedResponse, Sender } from "../perform/follow.ts";
import { type ProxyGate, viaEntry } from "../gate.ts";
import { buildOutgoingHeaders } from "../perform/outgoing_headers.ts";
import type { Performer, RequestLimits } from "../perform/perform.ts";
import type { RequestRecord } from "../request_log.ts";
import type { HopResponse } from "../perform/upstream.ts";

/** The parts of a listener's exchange that an upgrade needs. */
export type UpgradeExchange = Pick<Exchange, "method" | "path" | "headers" | "header" | "signal"> & {
  response: Pick<Exchange["response"], "switchProtocols">;
};

/** Options for upgrades. */
export interface UpgradeRouteOptions {
  gate: ProxyGate;
  performer: Performer;
  sender: Sender;
  clock: AlarmClock;
  limits: RequestLimits;
}

/**
 * Passes WebSockets and other upgrades on, at the paths under `/proxy/fetch`. The handshake goes to the upstream
 * unchanged. After status 101, bytes pass both ways unread.
 */
export class UpgradeRoute {
  readonly #options: UpgradeRouteOptions;
  readonly #closing = new AbortController();

  constructor(options: UpgradeRouteOptions) {
    this.#options = options;
  }

  /**
   * Returns null after a protocol switch, else the upstream's response.
   * @throws HttpError from the guard, the token check or the upstream
   */
  async handle(exchange: UpgradeExchange, protocol: string, record: RequestRecord): Promise<ProxyResponse | null> {
    const { gate, performer, clock, limits } = this.#options;
    const url = readUpgradeUrl(exchange.path);
    record.upstream = { method: exchange.method, url };
    gate.checkOwnToken(exchange);
    const stop = performer.begin();
    const deadline = new Deadline(clock, exchange, limits.timeoutMs);
    const onEnd = () => {
      deadline.stop();
      stop();
      if (record.isStreamed) record.write();
    };
    try {
      const response = await this.#shakeHands(exchange, protocol, url, deadline);
      record.status = response.status;
      record.isStreamed = true;
      if (response.switched === null) {
        deadline.limitIdle(limits.streamIdleMs);
        const stream = { maxBytes: null, deadline, record, onEnd };
        return await plainResponse({ ...UNFOLLOWED, response, finalUrl: url.href }, stream, exchange);
      }
      // The time limit was for the handshake.
      deadline.stop();
      const visitor = exchange.response.switchProtocols(serializeBlock(response));
      this.#join(visitor, response.switched, record).finally(onEnd);
      return null;
    } catch (error) {
      record.isStreamed = false;
      onEnd();
      throw error;
    }
  }

  /** Ends all switched connections. */
  close(): void {
    this.#closing.abort();
  }

  async #shakeHands(
    exchange: UpgradeExchange,
    protocol: string,
    url: URL,
    ending: Deadline,
  ): Promise<HopResponse> {
    const { guard, upstream, viaToken } = this.#options.sender;
    guard.checkUrl(url);
    const described = describeFetch(exchange, url).headers;
    const headers: HeaderList = [
      ...buildOutgoingHeaders(described, exchange.header("accept-encoding") ?? "identity"),
      ["Connection", "Upgrade"],
      ["Upgrade", protocol],
      ["Via", viaEntry(viaToken, url.host)],
    ];
    return await upstream.send({ method: exchange.method, url, headers, body: null, ending, upgrade: true });
  }

  /** Joins the two connections until both end. Never rejects. */
  async #join(visitor: Connection, upstream: Connection, record: RequestRecord): Promise<void> {
    const { signal } = this.#closing;
    const { back } = await splice(visitor, upstream, { signal, idleMs: this.#options.limits.streamIdleMs });
    record.bytes = back;
  }
}

/** A handshake follows no redirects, as in browsers. */
const UNFOLLOWED: Omit<FollowedResponse, "response" | "finalUrl"> = {
  redirects: [],
  dnsMs: 0,
  connectMs: 0,
  firstByteMs: 0,
};

/** Returns the handshake's HTTP URL. @throws HttpError 400 `description_invalid` */
function readUpgradeUrl(path: string): URL {
  const url = readFetchUrl(path);
  if (url.protocol === "ws:") url.protocol = "http:";
  if (url.protocol === "wss:") url.protocol = "https:";
  return url;
}

/** Serializes the 101's reason and fields. Connection fields are the listener's. */
function serializeBlock({ statusText, headers }: HopResponse): Uint8Array {
  const fields = headers.filter(([name]) => /^upgrade$/i.test(name) || mayPassOn(name.toLowerCase(), false));
  return Buffer.from(`${statusText}\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}`, "latin1");
}
