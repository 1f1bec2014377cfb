import { delay } from "../../../common/delay.ts";
import { networkOf } from "../../../net/forwarded.ts";
import { HttpError, serverRestarting } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { describeError, type Logger, stackOf } from "../../../common/log.ts";
import { acceptWebSocket } from "../../../net/websocket/mod.ts";
import { GoAwayReason, NOTICES_HEADER, SUBPROTOCOL } from "../../../protocol/mod.ts";
import type { Endpoint } from "../tunnel/endpoint.ts";
import { Session, type SessionUser } from "./session.ts";

/** Limits for this server's sessions. */
export interface SessionsOptions {
  maxStreams: number;
  maxUpgrades: number;
  maxPerAddress: number;
  /** Milliseconds after which an idle stream ends. */
  streamIdleMs: number;
  log: Logger;
}

/** A session's owner. */
export interface SessionOwner {
  /** The client's address. */
  readonly address: string;
  /** Null for an ephemeral tunnel. */
  readonly user: SessionUser | null;
  /** The tunnel's id, for the log. */
  readonly tunnel: string;
}

const BEAT_MS = 1000;
const DRAIN_POLL_MS = 20;
/** Checks in one idle time: streams end after the idle time, at most 1/IDLE_TURNS later. */
const IDLE_TURNS = 4;

/** Every session in this process. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Set<Session>();
  readonly #perNetwork = new Map<string, number>();
  readonly #timers: ReturnType<typeof setInterval>[];
  #draining = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#timers = [
      setInterval(() => this.#sessions.forEach(({ mux }) => mux.beat()), BEAT_MS),
      setInterval(
        () => this.#sessions.forEach(({ mux }) => mux.endIdle(IDLE_TURNS)),
        options.streamIdleMs / IDLE_TURNS,
      ),
    ];
  }

  /** Whether {@link drain} was called. */
  get draining(): boolean {
    return this.#draining;
  }

  /**
   * Turns an owner's handshake into the session that carries the endpoint.
   * @throws HttpError if the endpoint is closed, the address has too many sessions, or the server drains
   */
  accept(exchange: Exchange, endpoint: Endpoint, owner: SessionOwner): Session {
    if (this.#draining) throw serverRestarting();
    const closure = endpoint.findClosure();
    if (closure !== null) throw closure.refuse();
    const { maxStreams, maxUpgrades, log } = this.#options;
    const { address, user, tunnel } = owner;
    const network = networkOf(address);
    this.#checkLimit(network, endpoint);
    const session = new Session(acceptWebSocket(exchange, SUBPROTOCOL), {
      address,
      user,
      takesNotices: exchange.header(NOTICES_HEADER) === "1",
      maxStreams,
      maxUpgrades,
      onDrain: (session) => endpoint.detach(session),
      onDefect: (error) => log.error("session_failed", { tunnel, reason: describeError(error), stack: stackOf(error) }),
      onEnd: (session, reason, text) => {
        this.#sessions.delete(session);
        this.#countFor(network, -1);
        endpoint.detach(session);
        log.info("session_ended", { tunnel, address, reason: nameOf(reason), text });
      },
    });
    this.#sessions.add(session);
    this.#countFor(network, 1);
    endpoint.attach(session);
    log.info("session_opened", { tunnel, address });
    return session;
  }

  /** Counts the open sessions and streams. */
  count(): { sessions: number; streams: number } {
    let streams = 0;
    for (const { mux } of this.#sessions) streams += mux.size;
    return { sessions: this.#sessions.size, streams };
  }

  /** Returns the sessions that account members opened. */
  ofMembers(): (Session & { readonly user: SessionUser })[] {
    return [...this.#sessions].filter((session): session is Session & { readonly user: SessionUser } =>
      session.user !== null
    );
  }

  /**
   * Refuses new sessions and tells every client to connect elsewhere. Resolves when all streams have ended, or when
   * `signal` aborts.
   */
  async drain(signal: AbortSignal): Promise<void> {
    this.#draining = true;
    for (const { mux } of this.#sessions) mux.sendGoAway(GoAwayReason.draining, RESTARTING);
    while (this.count().streams > 0 && !signal.aborted) await delay(DRAIN_POLL_MS, signal);
  }

  /** Ends all sessions. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const session of this.#sessions) session.end(GoAwayReason.draining, RESTARTING);
  }

  /** Checks an address's limit. A session may exceed it if it replaces one from the same network. */
  #checkLimit(network: string, { session }: Endpoint): void {
    if ((this.#perNetwork.get(network) ?? 0) < this.#options.maxPerAddress) return;
    if (session instanceof Session && !session.over && networkOf(session.address) === network) return;
    throw new HttpError(429, "too_many_sessions", "This address has too many sessions.", {
      headers: { "retry-after": "10" },
    });
  }

  #countFor(network: string, change: number): void {
    const count = (this.#perNetwork.get(network) ?? 0) + change;
    if (count > 0) this.#perNetwork.set(network, count);
    else this.#perNetwork.delete(network);
  }
}

const RESTARTING = "the server is restarting";

function nameOf(reason: GoAwayReason): string {
  return Object.entries(GoAwayReason).find(([, code]) => code === reason)?.[0] ?? String(reason);
}
