import type { ServerSocket, UpgradeOptions } from "../../common/listener/mod.ts";
import { releaseMessage } from "../../common/message_memory.ts";
import { GoAwayReason, MAX_MESSAGE, Mux, SUBPROTOCOL, type Transport } from "../../protocol/mod.ts";

/** A message is held back while the network has this much left to take. */
const MAX_BUFFERED = 2 * 1024 * 1024;
/** Short enough that half of that is never sent within it, on any network: the line stays busy. */
const DRAIN_POLL_MS = 1;

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
  maxStreams: number;
  onOpen(session: Session): void;
  onEnd(session: Session, reason: GoAwayReason, text: string): void;
  /** Something failed that should not. */
  onDefect(error: unknown): void;
}

/** The upgrade that turns a client's handshake into a session. */
export function createSessionUpgrade(options: SessionOptions): UpgradeOptions {
  let session: SocketSession | null = null;
  return {
    protocol: SUBPROTOCOL,
    maxMessageBytes: MAX_MESSAGE,
    onOpen(socket) {
      session = new SocketSession(socket, options);
      options.onOpen(session);
    },
    onMessage: (data) => session?.receive(data),
    onClose: () => session?.lost(),
  };
}

class SocketSession implements Session, Transport {
  readonly mux: Mux;
  readonly address: string;
  readonly #socket: ServerSocket;
  readonly #options: SessionOptions;
  #closed = false;

  constructor(socket: ServerSocket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.address = options.address;
    this.mux = new Mux({
      transport: this,
      maxStreams: options.maxStreams,
      onEnd: (reason, text) => {
        this.#closed = true;
        socket.close(1000);
        options.onEnd(this, reason, text);
      },
      onGoAway: (reason, text) => this.mux.end(reason, text),
    });
  }

  send(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): void | Promise<void> {
    if (this.#closed) return;
    this.#socket.send(buffer.subarray(start, end));
    if (this.#socket.bufferedAmount > MAX_BUFFERED) return this.#drained();
  }

  receive(data: string | Uint8Array): void {
    if (typeof data === "string") this.mux.end(GoAwayReason.protocolError, "a session carries binary messages only");
    else this.#receive(data);
  }

  /** A defect of ours while a frame is handled ends this session and no other. */
  #receive(message: Uint8Array): void {
    try {
      this.mux.receive(message);
      releaseMessage(message);
    } catch (error) {
      this.#options.onDefect(error);
      this.mux.end(GoAwayReason.closed, "the server failed");
    }
  }

  lost(): void {
    this.mux.end(GoAwayReason.lost, "the connection to the client broke");
  }

  end(reason: GoAwayReason, text: string): void {
    this.mux.end(reason, text);
  }

  /** WebSockets tell how much they hold but not when that changes. */
  async #drained(): Promise<void> {
    while (!this.#closed && this.#socket.bufferedAmount > MAX_BUFFERED / 2) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    }
  }
}
