import type { HttpError } from "../../../common/http_error.ts";
import type { GoAwayReason } from "../../../protocol/mod.ts";
import type { Presence, SessionHandle } from "../../cluster/mod.ts";
import type { RequestLog } from "./request_log.ts";

/** Why a session ends. */
export interface SessionEnd {
  readonly reason: GoAwayReason;
  /** For the client's user. */
  readonly text: string;
}

/** What endpoints, and the tunnels they belong to, stand on. */
export interface RelayContext {
  readonly presence: Presence;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** When this server started, in Unix milliseconds: clients of the one before are on their way back. */
  readonly startedAt: number;
}

/** What an endpoint asks of its tunnel, which decides by its kind. */
export interface TunnelGate {
  /** Why no visitor may pass to that port, and no session may carry it, or null. */
  gate(port: number): HttpError | null;
  /** Counts bytes in either direction, and ends the sessions the moment a limit is reached. */
  meter(bytes: number): void;
  /** What visitors asked for lately; null for kinds that keep nothing of it. */
  readonly requests: RequestLog | null;
  /** Told when somebody begins to carry one of its endpoints. */
  onCarried?(endpoint: Endpoint): void;
}

/** Visitors that wait for the session of one endpoint. */
const MAX_HELD = 256;

/**
 * One public address of a tunnel: who carries it, and the gate that every visitor passes on the way there, whatever they
 * come for.
 */
export class Endpoint {
  readonly tunnel: TunnelGate;
  /** The port of the client's machine; 0 for a tunnel that has but one address. */
  readonly port: number;
  /** Who carries it as far as this node has seen. Whoever is to carry a visitor is found by {@link find}. */
  carrier: SessionHandle | null = null;
  /** When {@link carrier} took it over, in Unix milliseconds. */
  since = 0;
  /** When the last session ended, or this server started if none has been seen yet, in Unix milliseconds. */
  droppedAt: number;
  readonly #key: string;
  readonly #place: RelayContext;
  #held = 0;

  /** @param key what presence knows it by */
  constructor(tunnel: TunnelGate, port: number, key: string, place: RelayContext) {
    this.tunnel = tunnel;
    this.port = port;
    this.#key = key;
    this.#place = place;
    this.droppedAt = place.startedAt;
  }

  /** Why no visitor may pass, or null. */
  gate(): HttpError | null {
    return this.tunnel.gate(this.port);
  }

  /** Counts bytes in either direction. */
  meter(bytes: number): void {
    this.tunnel.meter(bytes);
  }

  /** Whether somebody carries it, as far as this node has seen. */
  get isLive(): boolean {
    return this.carrier !== null && !this.carrier.over;
  }

  /** Who carries it: at once when the session is here. */
  find(): SessionHandle | null | Promise<SessionHandle | null> {
    return this.#place.presence.find(this.#key);
  }

  /** Puts a session of this node in charge; the one it takes over from is told so. */
  attach(carrier: SessionHandle): void {
    this.#see(carrier);
    this.#place.presence.claim(this.#key, carrier);
  }

  /** Takes a session that has ended, or drains, away; no effect when another one has taken over. */
  detach(carrier: SessionHandle): void {
    if (this.carrier === carrier) this.carrier = null;
    if (this.#place.presence.release(this.#key, carrier)) this.droppedAt = this.#place.now();
  }

  /** Ends the session that carries it, on whichever node. */
  end({ reason, text }: SessionEnd): void {
    const found = this.find();
    if (found instanceof Promise) void found.then((carrier) => carrier?.end(reason, text));
    else found?.end(reason, text);
  }

  /**
   * Who carries it, as soon as there is somebody. Null when none came within `holdMs` after the last dropped off, or at
   * once when that was longer ago or {@link MAX_HELD} visitors wait already.
   */
  async whenCarried(holdMs: number): Promise<SessionHandle | null> {
    const found = this.find();
    const left = this.droppedAt + holdMs - this.#place.now();
    const canWait = left > 0 && this.#held < MAX_HELD;
    if (!canWait || (found !== null && !(found instanceof Promise))) return this.#see(await found);
    return this.#see(await this.#wait(left, found));
  }

  /** Waits for a session that is there, by `found`, or comes. */
  async #wait(ms: number, found: Promise<SessionHandle | null> | null): Promise<SessionHandle | null> {
    const { promise, resolve } = Promise.withResolvers<SessionHandle | null>();
    const stop = this.#place.presence.watch(this.#key, resolve);
    const timer = setTimeout(resolve, ms, null);
    void found?.then((carrier) => carrier !== null && resolve(carrier));
    this.#held++;
    const carrier = await promise;
    this.#held--;
    clearTimeout(timer);
    stop();
    return carrier;
  }

  #see(carrier: SessionHandle | null): SessionHandle | null {
    if (carrier === null || carrier === this.carrier) return carrier;
    this.carrier = carrier;
    // A session of another node drops off without a word to this one: it was there now at least.
    this.since = this.droppedAt = this.#place.now();
    this.tunnel.onCarried?.(this);
    return carrier;
  }
}
