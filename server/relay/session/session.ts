import type { Connection } from "../../../net/connection/mod.ts";
import { FrameSocket, type FrameSocketOptions } from "../../../net/websocket/mod.ts";
import { GoAwayReason, Mux, type NoticeCode } from "../../../protocol/mod.ts";
import type { SessionHandle } from "../../cluster/mod.ts";
import type { AccountUser } from "../../store/mod.ts";

/** The user who opened a session for a persistent tunnel. */
export interface SessionUser extends AccountUser {
  /** The login or token that opened it, or its successor. */
  login: string | null;
}

/** A session's owner, limits and listeners. */
export interface RelaySessionOptions {
  /** The client's address. */
  address: string;
  /** The user who opened it; null for an ephemeral tunnel. */
  user: SessionUser | null;
  /** Whether the client accepts notices. */
  takesNotices: boolean;
  /** Requests that may be open at a time. */
  maxStreams: number;
  /** Upgrades that may be open at the same time as these requests. */
  maxUpgrades: number;
  /** Called when the client stops: open requests finish, and it gets no new ones. */
  onDrain(session: Session): void;
  /** Called once at the end, with a text for people. */
  onEnd(session: Session, reason: GoAwayReason, text: string): void;
  /** A defect: the stream that caused it was reset, or the session ended if no stream is known. */
  onDefect(error: unknown): void;
}

/**
 * The relay's end for a client connection after the WebSocket handshake. It owns the connection, and starts to read in the
 * next microtask, when the caller has registered it.
 */
export class Session implements SessionHandle {
  readonly mux: Mux;
  readonly open: SessionHandle["open"];
  readonly address: string;
  readonly user: SessionUser | null;
  readonly #takesNotices: boolean;

  constructor(connection: Connection, options: RelaySessionOptions) {
    this.address = options.address;
    this.user = options.user;
    this.#takesNotices = options.takesNotices;
    const frames: FrameSocketOptions = {
      connection,
      masking: "bare",
      peer: "the client",
      onPayload: (_bytes, start) => start,
      onEnd: (reason) => this.mux.end(GoAwayReason.lost, reason),
      onDefect: (error) => {
        options.onDefect(error);
        this.mux.end(GoAwayReason.closed, "the server failed");
      },
    };
    const socket = new FrameSocket(frames);
    this.mux = new Mux({
      transport: socket,
      maxStreams: options.maxStreams,
      maxUpgrades: options.maxUpgrades,
      onDefect: options.onDefect,
      onEnd: (reason, text) => {
        socket.close();
        options.onEnd(this, reason, text);
      },
      onGoAway: (reason, text) => {
        if (reason === GoAwayReason.draining) options.onDrain(this);
        else this.mux.end(reason, text);
      },
    });
    // The mux's own functions: a wrapper would add a call to each request and to each message.
    frames.onPayload = this.mux.receive.bind(this.mux);
    this.open = this.mux.open.bind(this.mux);
    queueMicrotask(() => {
      socket.start();
      // Bulk data would lengthen the round trip, so measure before any.
      this.mux.measureRoundTrip();
    });
  }

  get over(): boolean {
    return this.mux.over;
  }

  /** Sends a notice for the client's user, if the client accepts notices. */
  notify(code: NoticeCode, text: string): void {
    if (this.#takesNotices) this.mux.sendNotice(code, text);
  }

  end(reason: GoAwayReason, text: string): void {
    this.mux.end(reason, text);
  }
}
