import { MAX_MESSAGE } from "../../protocol/mod.ts";
import { Opcode } from "./websocket.ts";

/**
 * Puts fragments of a session's messages together. A relay sends each message as one frame, but whoever stands in
 * between may cut it up (RFC 6455, section 5.4).
 */
export class MessageParts {
  #memory: Uint8Array<ArrayBuffer> | null = null;
  #size = 0;

  /**
   * Takes the next data frame.
   * @returns the message when this frame ends it, else null
   * @throws RangeError for a frame out of turn, a message that is not binary, and one that is too large
   */
  push(opcode: number, fin: boolean, payload: Uint8Array): Uint8Array | null {
    if (opcode !== Opcode.continuation && opcode !== Opcode.binary) {
      throw new RangeError("the server sent what is no binary message");
    }
    if ((opcode === Opcode.continuation) !== (this.#memory !== null)) {
      throw new RangeError("the server's messages are cut up wrongly");
    }
    this.#append(payload);
    if (!fin) return null;
    const message = this.#memory!.subarray(0, this.#size);
    this.#memory = null;
    this.#size = 0;
    return message;
  }

  /** One memory that doubles, as a message may come in a million pieces. */
  #append(payload: Uint8Array): void {
    const size = this.#size + payload.length;
    if (size > MAX_MESSAGE) throw new RangeError("the server sent a message that is too large");
    const memory = this.#memory ?? new Uint8Array(size);
    this.#memory = memory;
    if (size > memory.length) {
      this.#memory = new Uint8Array(Math.max(size, memory.length * 2));
      this.#memory.set(memory.subarray(0, this.#size));
    }
    this.#memory.set(payload, this.#size);
    this.#size = size;
  }
}
