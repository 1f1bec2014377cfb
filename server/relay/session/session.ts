import type { Connection } from "../../../net/connection/mod.ts";
import { FrameSocket, type FrameSocketOptions } from "../../../net/websocket/mod.ts";
import { GoAwayReason, Mux, type NoticeCode } from "../../../protocol/mod.ts";
import type { SessionHandle } from "../../cluster/mod.ts";
import type { AccountUser } from "../../store/mod.ts";

/** Who opened a session of a persistent tunnel. */
export interface SessionUser extends AccountUser {
  /** The login or token that they came by, or that has taken its place. */
  login: string | null;
}

/** A client's session: whose it is, its bounds, and who hears of its end. */
export interface RelaySessionOptions {
  /** Address the client connected from. */
  address: string;
  /** Who opened it; null for the holder of an ephemeral tunnel's secret. */
  user: SessionUser | null;
  /** Whether the client takes notices. */
  takesNotices: boolean;
  /** Plain requests that may be open at a time. */
  maxStreams: number;
  /** Upgrades that may be open at a time, besides those. */
  maxUpgrades: number;
  /** The client stops: what is in flight ends, and no more should come its way. */
  onDrain(session: Session): void;
  /** Called once, whatever ended it. The text is for people. */
  onEnd(session: Session, reason: GoAwayReason, text: string): void;
  /** A defect: the stream that caused it was reset, or the session ended if no stream is known. */
  onDefect(error: unknown): void;
}

/**
 * The relay's end of one running client connection, whose WebSocket handshake was accepted; the connection is its own
 * from there on. It reads only once the caller has put it where it belongs.
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
      // While the line is quiet; bulk would lengthen it.
      this.mux.measureRoundTrip();
    });
  }

  get over(): boolean {
    return this.mux.over;
  }

  /** Tells the client's user something, if the client can. */
  notify(code: NoticeCode, text: string): void {
    if (this.#takesNotices) this.mux.sendNotice(code, text);
  }

  end(reason: GoAwayReason, text: string): void {
    this.mux.end(reason, text);
  }
}
