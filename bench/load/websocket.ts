import { randomBytes } from "node:crypto";
import type { Endpoint } from "../programs/types.ts";
import { encodeRequest, VisitorConnection } from "./connection.ts";

/** Message size in bytes, below 126 so that frame heads have their shortest form. */
const MESSAGE_SIZE = 32;
const SENT_SIZE = 2 + 4 + MESSAGE_SIZE;
const ECHO_SIZE = 2 + MESSAGE_SIZE;

/** A minimal WebSocket client for an echo. Deno's own waits for delayed TCP acknowledgements. */
export class EchoSocket {
  readonly #connection: VisitorConnection;
  /** Received bytes in the incomplete last echo. */
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
    throw new Error(`the upgrade got status ${status}`);
  }

  /** Sends `count` messages in one write. */
  async send(count: number): Promise<void> {
    const bytes = new Uint8Array(count * SENT_SIZE);
    for (let at = 0; at < bytes.length; at += SENT_SIZE) {
      // A final text frame with a zero mask, which leaves the text unchanged.
      bytes.set([0x81, 0x80 | MESSAGE_SIZE, 0, 0, 0, 0], at);
      bytes.fill(0x78, at + 6, at + SENT_SIZE);
    }
    await this.#connection.write(bytes);
  }

  /** Waits for at least one more complete echo, and returns the number of new ones. */
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
