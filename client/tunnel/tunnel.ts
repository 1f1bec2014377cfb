import { createBackoff } from "../../common/backoff.ts";
import { delay } from "../../common/delay.ts";
import { describeError } from "../../common/log.ts";
import { GoAwayReason } from "../../protocol/mod.ts";
import type { Connect } from "../../net/connection/mod.ts";
import { ApiRefused, LoginNeeded } from "../api/mod.ts";
import { type CarriedTunnel, type ClientSession, openSession, type SessionEvents } from "./session.ts";
import type { Target } from "./target.ts";

/** Time for open requests to end after the tunnel is stopped. */
const DRAIN_MS = 5000;

/** Listeners for tunnel events. */
export interface TunnelEvents extends SessionEvents {
  onConnected(): void;
  /** The session broke, or the relay restarts; the next attempt starts after `delayMs`. */
  onReconnecting(reason: string, delayMs: number): void;
  /** The tunnel was stopped and waits for `active` open requests, at most `ms`. */
  onDraining(active: number, ms: number): void;
}

/** The end of a tunnel. */
export interface TunnelEnd {
  cause: EndCause;
  /** The relay's or the login's explanation; may be empty. */
  text: string;
}

/** Causes of a tunnel's end. */
export type EndCause =
  | "stopped"
  | "expired"
  | "exhausted"
  | "replaced"
  | "refused"
  /** The tunnel is switched off or suspended, or its user may not use it any more. */
  | "disabled"
  /** The user's traffic for this month is used up. */
  | "allowance"
  | "removed"
  /** The login has ended. */
  | "loggedOut";

/** Options for a tunnel that runs over consecutive sessions. */
export interface RunTunnelOptions {
  connect: Connect;
  server: URL;
  tunnel: CarriedTunnel;
  target: Target;
  /** The exposed port of a persistent tunnel; its default port if absent. */
  port?: number;
  /** Stops the tunnel. */
  signal: AbortSignal;
  /** Time for each connection attempt; 10 seconds by default. */
  timeoutMs?: number;
  events: TunnelEvents;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
/**
 * The relay's clock decides while it is reachable. This machine's clock may be slightly ahead, so it ends the tunnel
 * only after this time.
 */
const EXPIRY_GRACE_MS = 5000;

/**
 * Keeps a tunnel connected under its URL until it is over. It reconnects after every loss, and moves to a new session
 * when the relay drains while the old session finishes its requests.
 * @throws ApiRefused, ApiUnreachable or LoginNeeded when the first attempt fails
 */
export async function runTunnel(options: RunTunnelOptions): Promise<TunnelEnd> {
  const { signal, tunnel, events } = options;
  const sessions = new Set<ClientSession>();
  const backoff = createBackoff({ initialMs: FIRST_WAIT_MS, maxMs: LONGEST_WAIT_MS });
  const expiry = new AbortController();
  const isOver = new AbortController();
  if (tunnel.expiresAt !== null) {
    void delay(tunnel.expiresAt + EXPIRY_GRACE_MS - Date.now(), isOver.signal).then(() => expiry.abort());
  }
  const stop = AbortSignal.any([signal, expiry.signal]);
  try {
    for (let isFirst = true;; isFirst = false) {
      const lost = await connectOnce(options, sessions, stop, isFirst);
      if (stop.aborted) return { cause: signal.aborted ? "stopped" : "expired", text: "" };
      if (lost.end !== null) return { cause: lost.end, text: lost.reason };
      if (lost.connected) backoff.reset();
      const waitMs = backoff.next();
      events.onReconnecting(lost.reason, waitMs);
      await delay(waitMs, stop);
      if (stop.aborted) return { cause: signal.aborted ? "stopped" : "expired", text: "" };
    }
  } finally {
    isOver.abort();
    if (signal.aborted) await drain(sessions, events);
    for (const session of sessions) session.close();
  }
}

/** Lets open requests end. */
async function drain(sessions: ReadonlySet<ClientSession>, events: TunnelEvents): Promise<void> {
  const active = [...sessions].reduce((sum, session) => sum + session.active, 0);
  if (active === 0) return;
  events.onDraining(active, DRAIN_MS);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), DRAIN_MS);
  await Promise.all([...sessions].map((session) => session.drain(late.signal)));
  clearTimeout(timer);
}

/** The result after a session, or after a failed attempt. */
interface Lost {
  reason: string;
  connected: boolean;
  /** Set if another attempt is useless. */
  end: EndCause | null;
}

/** Opens a session and resolves when another one is needed: at its end, or already when the relay drains. */
async function connectOnce(
  options: RunTunnelOptions,
  sessions: Set<ClientSession>,
  stop: AbortSignal,
  isFirst: boolean,
): Promise<Lost> {
  const wanted = Promise.withResolvers<Lost>();
  const end = (reason: GoAwayReason, text: string) =>
    wanted.resolve({ reason: text, connected: true, end: endOf(reason) });
  const onStop = () => end(GoAwayReason.closed, "stopped");
  stop.addEventListener("abort", onStop);
  let session: ClientSession | null = null, isOver = false;
  try {
    session = await openSession({
      ...options,
      signal: stop,
      onGoAway: end,
      onEnd: (reason, text) => {
        // The session may end before `openSession` resolves.
        isOver = true;
        if (session !== null) sessions.delete(session);
        end(reason, text);
      },
    });
    if (!isOver) sessions.add(session);
    options.events.onConnected();
    return await wanted.promise;
  } catch (error) {
    if (stop.aborted) return await wanted.promise;
    if (isFirst) throw error;
    if (error instanceof LoginNeeded) return { reason: error.message, connected: false, end: "loggedOut" };
    const isRefused = error instanceof ApiRefused && (GONE.has(error.status) || ENDS.has(error.code));
    if (isRefused) return { reason: error.message, connected: false, end: ENDS.get(error.code) ?? "refused" };
    return { reason: describeError(error), connected: false, end: null };
  } finally {
    stop.removeEventListener("abort", onStop);
  }
}

/** Statuses after which the tunnel cannot return. */
const GONE: ReadonlySet<number> = new Set([401, 403, 404, 410, 426]);
/** Error codes that a client receives if its session broke before the relay could send the reason. */
const ENDS: ReadonlyMap<string, EndCause> = new Map<string, EndCause>([
  ["tunnel_expired", "expired"],
  ["tunnel_traffic_exhausted", "exhausted"],
  ["tunnel_disabled", "disabled"],
  ["tunnel_suspended", "disabled"],
  ["plan_required", "disabled"],
  ["port_not_allowed", "disabled"],
  ["allowance_exhausted", "allowance"],
]);

function endOf(reason: GoAwayReason): EndCause | null {
  switch (reason) {
    case GoAwayReason.expired:
      return "expired";
    case GoAwayReason.exhausted:
      return "exhausted";
    case GoAwayReason.replaced:
      return "replaced";
    case GoAwayReason.disabled:
      return "disabled";
    case GoAwayReason.allowance:
      return "allowance";
    case GoAwayReason.removed:
      return "removed";
    default:
      return null;
  }
}
