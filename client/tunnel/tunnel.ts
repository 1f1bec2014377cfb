import { createBackoff } from "../../common/backoff.ts";
import { delay } from "../../common/delay.ts";
import { describeError } from "../../common/log.ts";
import { GoAwayReason } from "../../protocol/mod.ts";
import type { Connect } from "../../net/connection/mod.ts";
import { ApiRefused, LoginNeeded } from "../api/mod.ts";
import { type CarriedTunnel, type ClientSession, openSession, type SessionEvents } from "./session.ts";
import type { Target } from "./target.ts";

/** How long answers under way may take to their end once the tunnel is stopped. */
const DRAIN_MS = 5000;

/** What happens to a running tunnel, for whoever shows it. */
export interface TunnelEvents extends SessionEvents {
  onConnected(): void;
  /** The session broke, or the relay restarts; the next attempt comes after `delayMs`. */
  onReconnecting(reason: string, delayMs: number): void;
  /** It was stopped, and waits for as many answers under way, `ms` at the most. */
  onDraining(active: number, ms: number): void;
}

/** How a tunnel ended. */
export interface TunnelEnd {
  cause: EndCause;
  /** What the relay, or the login, says of it; may be empty. */
  text: string;
}

/** Why a tunnel ended. */
export type EndCause =
  | "stopped"
  | "expired"
  | "exhausted"
  | "replaced"
  | "refused"
  /** Switched off, suspended, or its user may not use it any more. */
  | "disabled"
  /** The traffic of the user's month is used up. */
  | "allowance"
  | "removed"
  /** The login has ended. */
  | "loggedOut";

/** Which tunnel is carried, over as many sessions as it takes, and who hears of it. */
export interface RunTunnelOptions {
  connect: Connect;
  server: URL;
  tunnel: CarriedTunnel;
  target: Target;
  /** The port that is exposed, for a persistent tunnel; its default one when left out. */
  port?: number;
  /** Stops it. */
  signal: AbortSignal;
  /** For each attempt to connect; default 10 seconds. */
  timeoutMs?: number;
  events: TunnelEvents;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
/** The relay's clock decides while it can be reached; ours, which may be a little ahead, ends it only after that. */
const EXPIRY_GRACE_MS = 5000;

/**
 * Keeps a tunnel connected under its URL until it is over: reconnects after every loss, and moves to a new session
 * when the relay drains while the old one finishes what it carries.
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

/** Lets the answers under way end. */
async function drain(sessions: ReadonlySet<ClientSession>, events: TunnelEvents): Promise<void> {
  const active = [...sessions].reduce((sum, session) => sum + session.active, 0);
  if (active === 0) return;
  events.onDraining(active, DRAIN_MS);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), DRAIN_MS);
  await Promise.all([...sessions].map((session) => session.drain(late.signal)));
  clearTimeout(timer);
}

/** How one session, or the attempt at one, came to its end. */
interface Lost {
  reason: string;
  connected: boolean;
  /** Set when there is no use in another attempt. */
  end: EndCause | null;
}

/** Opens a session and resolves when a new one is wanted, which for a relay that drains is before the old one ended. */
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
        // It may end before its opening has come back to us.
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

/** Statuses after which the tunnel will not come back. */
const GONE: ReadonlySet<number> = new Set([401, 403, 404, 410, 426]);
/** What a client learns by them that missed the relay's word, as one may whose session broke off. */
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
