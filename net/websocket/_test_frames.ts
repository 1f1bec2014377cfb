import { setImmediate } from "node:timers";
import type { Masking, Opcode } from "./frames.ts";

/** Builds a frame by hand from RFC 6455, section 5.2, so that the tested code does not check itself. */
export function writeFrame(
  opcode: Opcode,
  payload: Uint8Array,
  fin = true,
  masking: Masking = "bare",
): Uint8Array<ArrayBuffer> {
  const { length } = payload, bit = masking === "bare" ? 0 : 0x80;
  const head = [(fin ? 0x80 : 0) | opcode];
  if (length < 126) head.push(bit | length);
  else if (length < 65_536) head.push(bit | 126, length >> 8, length & 255);
  else head.push(bit | 127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255);
  if (masking === "bare") return join([head, payload]);
  const key = masking === "zero" ? [0, 0, 0, 0] : [0x12, 0x9f, 0x03, 0xe4];
  return join([head, key, payload.map((byte, index) => byte ^ key[index & 3])]);
}

/** Parses and unmasks a client's frame (RFC 6455, section 5.3). */
export function readMasked(frame: Uint8Array): { first: number; key: number; payload: Uint8Array } {
  if ((frame[1] & 0x80) === 0) throw new Error("a client's frames have the mask bit");
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const short = frame[1] & 0x7f, at = short < 126 ? 2 : short === 126 ? 4 : 10;
  const size = short < 126 ? short : short === 126 ? view.getUint16(2) : Number(view.getBigUint64(2));
  const key = frame.subarray(at, at + 4);
  if (frame.length !== at + 4 + size) throw new Error("the length is wrong");
  const payload = frame.subarray(at + 4).map((byte, index) => byte ^ key[index % 4]);
  return { first: frame[0], key: view.getUint32(at), payload };
}

/** Joins all parts. */
export function join(parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** Resolves after all pending callbacks. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 10; count++) await new Promise((resolve) => setImmediate(resolve));
}
