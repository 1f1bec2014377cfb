import { Buffer } from "node:buffer";
import { type Connection, splice } from "../../../net/connection/mod.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { ProxyResponse } from "../response.ts";
import { mayPassOn, plainResponse } from "../responses/plain.ts";
import { type AlarmClock, Deadline } from "../perform/deadline.ts";
import type { HeaderList } from "../describe/description.ts";
import { describeFetch, readFetchUrl } from "./fetch.ts";
import type { FollowedResponse, Sender } from "../perform/follow.ts";
import { type ProxyGate, viaEntry } from "../gate.ts";
import { buildOutgoingHeaders } from "../perform/outgoing_headers.ts";
import type { Performer, RequestLimits } from "../perform/perform.ts";
import type { RequestRecord } from "../request_log.ts";
import type { HopResponse } from "../perform/upstream.ts";

/** What of a listener's exchange an upgrade needs. */
export type UpgradeExchange = Pick<Exchange, "method" | "path" | "headers" | "header" | "signal"> & {
  response: Pick<Exchange["response"], "switchProtocols">;
};

/** What passing WebSockets on works with. */
export interface UpgradeRouteOptions {
  gate: ProxyGate;
  performer: Performer;
  sender: Sender;
  clock: AlarmClock;
  limits: RequestLimits;
}

/**
 * WebSockets, and whatever else `Upgrade` may ask for, at the addresses of `/proxy/fetch`: the handshake goes to the
 * upstream as it is, and after its 101 bytes pass both ways unread.
 */
export class UpgradeRoute {
  readonly #options: UpgradeRouteOptions;
  readonly #closing = new AbortController();

  constructor(options: UpgradeRouteOptions) {
    this.#options = options;
  }

  /**
   * Null when the protocol was switched; else what the upstream answers instead.
   * @throws HttpError of the guard, the token or the upstream
   */
  async answer(exchange: UpgradeExchange, protocol: string, record: RequestRecord): Promise<ProxyResponse | null> {
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
      const answer = await this.#shakeHands(exchange, protocol, url, deadline);
      record.status = answer.status;
      record.isStreamed = true;
      if (answer.switched === null) {
        deadline.limitIdle(limits.streamIdleMs);
        const stream = { maxBytes: null, deadline, record, onEnd };
        return await plainResponse({ ...UNFOLLOWED, answer, finalUrl: url.href }, stream, exchange);
      }
      // The time was for the handshake.
      deadline.stop();
      const visitor = exchange.response.switchProtocols(serializeBlock(answer));
      this.#join(visitor, answer.switched, record).finally(onEnd);
      return null;
    } catch (error) {
      record.isStreamed = false;
      onEnd();
      throw error;
    }
  }

  /** Ends all connections that were switched. */
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

  /** Joins the two ends until both are done. Never rejects. */
  async #join(visitor: Connection, upstream: Connection, record: RequestRecord): Promise<void> {
    const { signal } = this.#closing;
    const { back } = await splice(visitor, upstream, { signal, idleMs: this.#options.limits.streamIdleMs });
    record.bytes = back;
  }
}

/** A handshake follows no redirects: browsers do not either. */
const UNFOLLOWED: Omit<FollowedResponse, "answer" | "finalUrl"> = {
  redirects: [],
  dnsMs: 0,
  connectMs: 0,
  firstByteMs: 0,
};

/** The URL of the handshake, which is HTTP's. @throws HttpError 400 `description_invalid` */
function readUpgradeUrl(path: string): URL {
  const url = readFetchUrl(path);
  if (url.protocol === "ws:") url.protocol = "http:";
  if (url.protocol === "wss:") url.protocol = "https:";
  return url;
}

/** Reason and fields of the upstream's 101 that the visitor is to see; what it says of the connection is ours to say. */
function serializeBlock({ statusText, headers }: HopResponse): Uint8Array {
  const fields = headers.filter(([name]) => /^upgrade$/i.test(name) || mayPassOn(name.toLowerCase(), false));
  return Buffer.from(`${statusText}\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}`, "latin1");
}
