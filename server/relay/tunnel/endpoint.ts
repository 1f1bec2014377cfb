import type { HttpError } from "../../../common/http_error.ts";
import type { Origin } from "../../../net/forwarded.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { GoAwayReason } from "../../../protocol/mod.ts";
import type { Presence, SessionHandle } from "../../cluster/mod.ts";
import type { AllowedPorts } from "../../store/mod.ts";
import type { RequestLog } from "./request_log.ts";

/** Why a session ends. */
export interface SessionEnd {
  readonly reason: GoAwayReason;
  /** A sentence for the client's user. */
  readonly text: string;
}

/** The process-wide objects that every tunnel and endpoint uses. */
export interface RelayContext {
  readonly presence: Presence;
  readonly gates: Gates;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** The start of this server in Unix milliseconds. Clients of its predecessor reconnect soon afterwards. */
  readonly startedAt: number;
}

/** A count with a limit. */
export interface Limited {
  /** Whether the limit is reached. */
  readonly isExhausted: boolean;
}

/** A tunnel as its endpoints and gates see it. */
export interface Tunnel {
  /** Counts the bytes that the tunnel carries. The limit is `Infinity` for none. */
  readonly traffic: Limited & { readonly limit: number; add(bytes: number): void };
  /** The latest requests, or null for tunnels that keep none. */
  readonly requests: RequestLog | null;
  /** When an ephemeral tunnel expires, in Unix milliseconds; null for other tunnels. */
  readonly expiresAt: number | null;
  /** The owner's and the operator's settings for a persistent tunnel, or null. Each change replaces the object. */
  readonly settings: TunnelSettings | null;
  /** The monthly allowance that a persistent tunnel's user has, or null. */
  readonly allowance: Limited | null;
  /** Called when this node first sees a session for a tunnel's endpoint. */
  onCarried?(endpoint: Endpoint): void;
}

/** Settings that can close a persistent tunnel. */
export interface TunnelSettings {
  readonly suspended: boolean;
  readonly enabled: boolean;
  readonly allowedPorts: AllowedPorts;
}

/** One visitor's request as gates see it. */
export interface Visit {
  readonly exchange: Exchange;
  readonly endpoint: Endpoint;
  /** The visitor's address, scheme and host, behind trusted proxies too. */
  readonly visitor: Origin;
  /** Whether the visit waited for a session. Its gates run a second time after that. */
  readonly wasHeld: boolean;
  /** Replaces a header field in the forwarded request. The name is in lower case; null removes the field. */
  setField(name: string, value: string | null): void;
  /** Calls `listener` once when the request is over, also if a later gate refuses it. */
  onEnd(listener: () => void): void;
}

/** A gate's decision: null passes the visit, an error refuses it, and a response (`"responded"` if sent) ends it. */
export type Verdict = HttpError | Response | "responded" | null;

/** A reason that closes an endpoint for visitors and clients alike. */
export interface Closure {
  /** Creates the error for the visitor, or for the client that wants to carry the endpoint. */
  refuse(): HttpError;
  /** The reason for sessions that are open. */
  readonly end: SessionEnd;
}

/** A gate at one endpoint: give `close` for a tunnel's condition, else `admit`. */
export interface Check {
  /** Decides about one visitor's request, before it waits for a session and before a byte reaches the client. */
  admit?(visit: Visit): Verdict | Promise<Verdict>;
  /** Skips visitors that have their connection to themselves. The listener limits those. */
  readonly onlyShared?: boolean;
  /**
   * Returns why the endpoint is closed, or null.
   * @param claimant the allowance of a client that wants to carry the endpoint; the tunnel's own if left out
   */
  close?(claimant?: Limited): Closure | null;
}

/** Returns the check for one endpoint, or null where the gate cannot refuse. Runs again when settings change. */
export type Gate = (endpoint: Endpoint, context: Pick<RelayContext, "now">) => Check | null;

/** A relay's gates in order. */
export class Gates {
  /** Grows with each change. */
  version = 1;
  readonly #gates: Gate[];

  constructor(gates: readonly Gate[] = []) {
    this.#gates = [...gates];
  }

  /** Adds a gate before all others. It applies to endpoints that exist already. */
  prepend(gate: Gate): void {
    this.#gates.unshift(gate);
    this.version++;
  }

  /** Returns an endpoint's checks in list order. */
  compile(endpoint: Endpoint, context: RelayContext): readonly Check[] {
    return this.#gates.map((gate) => gate(endpoint, context)).filter((check) => check !== null);
  }
}

/** Visitors that may wait for one endpoint's session. */
const MAX_HELD = 256;

/** A tunnel's public address, the session that carries it, and the checks that its visitors pass. */
export class Endpoint<T extends Tunnel = Tunnel> {
  readonly tunnel: T;
  /** The port on the client's machine; 0 for a tunnel with a single address. */
  readonly port: number;
  /** The session that this node saw last, or null. Use {@link connect} to find a session for a visitor. */
  session: SessionHandle | null = null;
  /** When {@link session} took over, in Unix milliseconds. */
  since = 0;
  /** When the last session ended, in Unix milliseconds. The server's start if this node has seen no session. */
  droppedAt: number;
  readonly #key: string;
  readonly #context: RelayContext;
  /** The session on this node that carries the endpoint. Visitors need no look-up then. */
  #own: SessionHandle | null = null;
  #held = 0;
  #checks: readonly Check[] = [];
  /** The list and the settings that {@link #checks} was compiled from. */
  #version = 0;
  #settings: TunnelSettings | null = null;

  /** @param key its key in presence */
  constructor(tunnel: T, port: number, key: string, context: RelayContext) {
    this.tunnel = tunnel;
    this.port = port;
    this.#key = key;
    this.#context = context;
    this.droppedAt = context.startedAt;
  }

  /** The checks that visitors pass, in order. */
  get checks(): readonly Check[] {
    const { version } = this.#context.gates, { settings } = this.tunnel;
    if (this.#version !== version || this.#settings !== settings) this.#compile(version, settings);
    return this.#checks;
  }

  /**
   * Returns why the endpoint is closed for visitors and clients, or null.
   * @param claimant the allowance of a client that wants to carry the endpoint; the tunnel's own if left out
   */
  findClosure(claimant?: Limited): Closure | null {
    for (const { close } of this.checks) {
      const closure = close?.(claimant) ?? null;
      if (closure !== null) return closure;
    }
    return null;
  }

  /** Counts bytes in either direction. */
  meter(bytes: number): void {
    this.tunnel.traffic.add(bytes);
  }

  /** Whether a session carries the endpoint, as far as this node has seen. */
  get isLive(): boolean {
    return this.session !== null && !this.session.over;
  }

  /** Returns the session that carries the endpoint, at once if it is on this node. */
  connect(): SessionHandle | null | Promise<SessionHandle | null> {
    return this.#own ?? this.#context.presence.find(this.#key);
  }

  /** Makes a session on this node carry the endpoint. Presence ends the session that carried it before. */
  attach(session: SessionHandle): void {
    this.#see(session);
    this.#own = session;
    this.#context.presence.claim(this.#key, session);
  }

  /** Removes a session that ended or drains. Has no effect after another session took over. */
  detach(session: SessionHandle): void {
    if (this.session === session) this.session = null;
    if (this.#own === session) this.#own = null;
    if (this.#context.presence.release(this.#key, session)) this.droppedAt = this.#context.now();
  }

  /** Ends the session that carries the endpoint, on any node. */
  end({ reason, text }: SessionEnd): void {
    const found = this.connect();
    if (found instanceof Promise) void found.then((session) => session?.end(reason, text));
    else found?.end(reason, text);
  }

  /** Ends the session if the endpoint is closed. */
  endIfClosed(): void {
    const closure = this.findClosure();
    if (closure !== null) this.end(closure.end);
  }

  /**
   * Waits for a session. Resolves with null if none came within `holdMs` after the last one ended, or at once if that
   * time is over or {@link MAX_HELD} visitors wait already.
   */
  async whenCarried(holdMs: number): Promise<SessionHandle | null> {
    const found = this.connect();
    const left = this.droppedAt + holdMs - this.#context.now();
    const canWait = left > 0 && this.#held < MAX_HELD;
    if (!canWait || (found !== null && !(found instanceof Promise))) return this.#see(await found);
    return this.#see(await this.#wait(left, found));
  }

  /** Waits for the session that `found` resolves with, or for one that connects. */
  async #wait(ms: number, found: Promise<SessionHandle | null> | null): Promise<SessionHandle | null> {
    const { promise, resolve } = Promise.withResolvers<SessionHandle | null>();
    const stop = this.#context.presence.watch(this.#key, resolve);
    const timer = setTimeout(resolve, ms, null);
    void found?.then((session) => session !== null && resolve(session));
    this.#held++;
    const session = await promise;
    this.#held--;
    clearTimeout(timer);
    stop();
    return session;
  }

  #compile(version: number, settings: TunnelSettings | null): void {
    this.#checks = this.#context.gates.compile(this, this.#context);
    this.#version = version;
    this.#settings = settings;
  }

  #see(session: SessionHandle | null): SessionHandle | null {
    if (session === null || session === this.session) return session;
    this.session = session;
    // This node gets no notice when another node's session ends. The session exists at least now.
    this.since = this.droppedAt = this.#context.now();
    this.tunnel.onCarried?.(this);
    return session;
  }
}
