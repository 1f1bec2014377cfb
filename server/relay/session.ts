import type { Connection } from "../../common/connection/mod.ts";
import { FrameSocket } from "../../common/websocket/mod.ts";
import { GoAwayReason, Mux } from "../../protocol/mod.ts";

/** The relay's end of one running client connection. */
export interface Session {
  readonly mux: Mux;
  /** Address the client connected from. */
  readonly address: string;
  /** Ends it with a reason that the client is told. */
  end(reason: GoAwayReason, text: string): void;
}

export interface SessionOptions {
  address: string;
  /** Plain requests that may be open at a time. */
  maxStreams: number;
  /** Upgrades that may be open at a time, besides those. */
  maxUpgrades: number;
  /** The client stops: what is in flight ends, and no more should come its way. */
  onDrain(session: Session): void;
  onEnd(session: Session, reason: GoAwayReason, text: string): void;
  /** Something failed that should not. The session ends by it, and no other. */
  onDefect(error: unknown): void;
}

/**
 * The session of a client whose WebSocket handshake was accepted; the connection is its own from here on. It reads only
 * once the caller has had the session back, and put it where it belongs.
 */
export function createSession(connection: Connection, options: SessionOptions): Session {
  return new SocketSession(connection, options);
}

class SocketSession implements Session {
  readonly mux: Mux;
  readonly address: string;

  constructor(connection: Connection, options: SessionOptions) {
    this.address = options.address;
    const socket = new FrameSocket({
      connection,
      masking: "bare",
      peer: "the client",
      onPayload: (bytes, start, end) => this.mux.receive(bytes, start, end),
      onEnd: (reason) => this.mux.end(GoAwayReason.lost, reason),
      onDefect: (error) => {
        options.onDefect(error);
        this.mux.end(GoAwayReason.closed, "the server failed");
      },
    });
    this.mux = new Mux({
      transport: socket,
      maxStreams: options.maxStreams,
      maxUpgrades: options.maxUpgrades,
      onEnd: (reason, text) => {
        socket.close();
        options.onEnd(this, reason, text);
      },
      onGoAway: (reason, text) => {
        if (reason === GoAwayReason.draining) options.onDrain(this);
        else this.mux.end(reason, text);
      },
    });
    queueMicrotask(() => {
      socket.start();
      // While the line is quiet; bulk would lengthen it.
      this.mux.measureRoundTrip();
    });
  }

  end(reason: GoAwayReason, text: string): void {
    this.mux.end(reason, text);
  }
}
