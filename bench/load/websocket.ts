import { randomBytes } from "node:crypto";
import type { Endpoint } from "../programs/types.ts";
import { encodeRequest, VisitorConnection } from "./connection.ts";

/** Bytes of every message: less than 126, so that the frame's head has its shortest form. */
const MESSAGE_SIZE = 32;
const SENT_SIZE = 2 + 4 + MESSAGE_SIZE;
const ECHO_SIZE = 2 + MESSAGE_SIZE;

/** A WebSocket to an echo, spoken by hand: Deno's own waits for TCP's delayed acknowledgement. */
export class EchoSocket {
  readonly #connection: VisitorConnection;
  /** Bytes of the last echo that have come so far. */
  #partial = 0;

  private constructor(connection: VisitorConnection) {
    this.#connection = connection;
  }

  /** @throws Error when the upgrade is refused */
  static async open(endpoint: Endpoint): Promise<EchoSocket> {
    const connection = await VisitorConnection.open(endpoint);
    const head = [
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
      ["Sec-WebSocket-Version", "13"],
      ["Sec-WebSocket-Key", randomBytes(16).toString("base64")],
    ] as const;
    await connection.write(encodeRequest(endpoint, "GET", "/echo", head));
    const { status } = await connection.readHead();
    if (status === 101) return new EchoSocket(connection);
    connection.close();
    throw new Error(`the upgrade was answered with ${status}`);
  }

  /** Sends `count` messages in one write. */
  async send(count: number): Promise<void> {
    const bytes = new Uint8Array(count * SENT_SIZE);
    for (let at = 0; at < bytes.length; at += SENT_SIZE) {
      // A final text frame with a mask of zeros, which leaves the text as it is.
      bytes.set([0x81, 0x80 | MESSAGE_SIZE, 0, 0, 0, 0], at);
      bytes.fill(0x78, at + 6, at + SENT_SIZE);
    }
    await this.#connection.write(bytes);
  }

  /** Waits until at least one more echo has come whole, and returns how many have. */
  async receive(): Promise<number> {
    for (;;) {
      const bytes = await this.#connection.read();
      if (bytes === null) throw new Error("the WebSocket was closed");
      this.#partial += bytes.length;
      const count = Math.floor(this.#partial / ECHO_SIZE);
      this.#partial -= count * ECHO_SIZE;
      if (count > 0) return count;
    }
  }

  close(): void {
    this.#connection.close();
  }
}
