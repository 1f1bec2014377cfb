import { delay } from "../../common/delay.ts";
import { networkOf } from "../../common/network.ts";
import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { describeError, type Logger, stackOf } from "../../common/log.ts";
import { acceptWebSocket } from "../../common/websocket/mod.ts";
import { GoAwayReason, SUBPROTOCOL } from "../../protocol/mod.ts";
import { serverRestarting } from "./errors.ts";
import { createSession, type Session } from "./session.ts";
import type { Tunnel } from "./tunnel.ts";

export interface SessionsOptions {
  maxStreams: number;
  maxUpgrades: number;
  maxPerAddress: number;
  /** Milliseconds after which a stream on which nothing moves is ended. */
  streamIdleMs: number;
  log: Logger;
}

/** Every session this process carries. */
export interface Sessions {
  /**
   * Turns an owner's handshake into the session that carries their tunnel.
   * @throws HttpError when the tunnel is over, the address holds too many, or the server drains
   */
  accept(exchange: Exchange, tunnel: Tunnel, address: string): void;
  /** Sessions and streams open now. */
  count(): { sessions: number; streams: number };
  /** Whether {@link drain} was called: visitors are sent away. */
  readonly draining: boolean;
  /**
   * Accepts no more and tells every client to connect elsewhere. Resolves when no stream is open any more, or when
   * `signal` aborts.
   */
  drain(signal: AbortSignal): Promise<void>;
  /** Ends all of them. */
  close(): void;
}

const BEAT_MS = 1000;
const DRAIN_POLL_MS = 20;
/** Turns of the idle clock in one idle time: streams end between one and 1 + 1/IDLE_TURNS of it. */
const IDLE_TURNS = 4;

export function createSessions(options: SessionsOptions): Sessions {
  const { log } = options;
  const sessions = new Set<Session>();
  const perNetwork = new Map<string, number>();
  let draining = false;
  const beat = setInterval(() => {
    for (const session of sessions) session.mux.beat();
  }, BEAT_MS);
  const idle = setInterval(() => {
    for (const session of sessions) session.mux.endIdle(IDLE_TURNS);
  }, options.streamIdleMs / IDLE_TURNS);

  function countFor(network: string, change: number): void {
    const count = (perNetwork.get(network) ?? 0) + change;
    if (count > 0) perNetwork.set(network, count);
    else perNetwork.delete(network);
  }

  function accept(exchange: Exchange, tunnel: Tunnel, address: string): void {
    if (draining) throw serverRestarting();
    const fault = tunnel.gate();
    if (fault !== null) throw fault;
    // A session that takes over from its own predecessor frees that one's place.
    const network = networkOf(address), previous = tunnel.session === null ? null : networkOf(tunnel.session.address);
    if ((perNetwork.get(network) ?? 0) >= options.maxPerAddress && previous !== network) {
      throw new HttpError(429, "too_many_sessions", "This address holds as many sessions as it may.", {
        headers: { "retry-after": "10" },
      });
    }
    const session = createSession(acceptWebSocket(exchange, SUBPROTOCOL), {
      address,
      maxStreams: options.maxStreams,
      maxUpgrades: options.maxUpgrades,
      onDrain: (session) => tunnel.detach(session),
      onDefect: (error) =>
        log.error("session_failed", { tunnel: tunnel.record.id, reason: describeError(error), stack: stackOf(error) }),
      onEnd(session, reason, text) {
        sessions.delete(session);
        countFor(network, -1);
        tunnel.detach(session);
        log.info("session_ended", { tunnel: tunnel.record.id, address, reason: nameOf(reason), text });
      },
    });
    sessions.add(session);
    countFor(network, 1);
    tunnel.attach(session);
    log.info("session_opened", { tunnel: tunnel.record.id, address });
  }

  const count = () => ({ sessions: sessions.size, streams: [...sessions].reduce((sum, { mux }) => sum + mux.size, 0) });

  return {
    accept,
    count,
    get draining() {
      return draining;
    },
    async drain(signal) {
      draining = true;
      for (const { mux } of sessions) mux.sendGoAway(GoAwayReason.draining, "the server is restarting");
      while (count().streams > 0 && !signal.aborted) await delay(DRAIN_POLL_MS, signal);
    },
    close() {
      clearInterval(beat);
      clearInterval(idle);
      for (const session of sessions) session.end(GoAwayReason.draining, "the server is restarting");
    },
  };
}

function nameOf(reason: GoAwayReason): string {
  return Object.entries(GoAwayReason).find(([, code]) => code === reason)?.[0] ?? String(reason);
}
