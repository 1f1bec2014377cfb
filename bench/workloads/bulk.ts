import { encodeRequest, VisitorConnection } from "../load/mod.ts";
import { readCpu } from "../measure/process_stats.ts";
import type { Contestant } from "../programs/types.ts";

export interface BulkResult {
  mbPerSecond: number;
  /** CPU milliseconds in relay and client for 100 MB. */
  cpuMsPer100Mb: number;
}

const PIECE = new Uint8Array(256 * 1024).fill(120);

/** Downloads one body with `size` bytes from the service, `count` times over one connection. */
export const measureDownload = (contestant: Contestant, size: number, count = 1): Promise<BulkResult> =>
  measure(contestant, size * count, async (connection) => {
    const request = encodeRequest(contestant.endpoint, "GET", `/bytes/${size}`);
    for (let i = 0; i < count; i++) {
      await connection.write(request);
      await finish(connection, size);
    }
  });

/** Downloads one text with `size` bytes from the service. Link rewriting can make it longer. */
export const measureText = (contestant: Contestant, size: number): Promise<BulkResult> =>
  measure(contestant, size, async (connection) => {
    await connection.write(encodeRequest(contestant.endpoint, "GET", `/text/${size}`));
    await finish(connection, size);
  });

/** Uploads one body with `size` bytes to the service, `count` times over one connection. */
export const measureUpload = (contestant: Contestant, size: number, count = 1): Promise<BulkResult> =>
  measure(contestant, size * count, async (connection) => {
    const request = encodeRequest(contestant.endpoint, "POST", "/sink", [["Content-Length", String(size)]]);
    for (let i = 0; i < count; i++) {
      await connection.write(request);
      for (let left = size; left > 0; left -= PIECE.length) {
        await connection.write(left < PIECE.length ? PIECE.subarray(0, left) : PIECE);
      }
      await finish(connection, 0);
    }
  });

async function finish(connection: VisitorConnection, least: number): Promise<void> {
  const head = await connection.readHead();
  if (head.status !== 200) throw new Error(`a body got status ${head.status}`);
  if (await connection.drain(head) < least) throw new Error("a body came short");
}

async function measure(
  { endpoint, relay, client }: Contestant,
  bytes: number,
  work: (connection: VisitorConnection) => Promise<void>,
): Promise<BulkResult> {
  const pids = [...relay, ...client];
  const connection = await VisitorConnection.open(endpoint);
  try {
    const cpuBefore = readCpu(pids), started = performance.now();
    await work(connection);
    const seconds = (performance.now() - started) / 1000;
    const cpuMs = (readCpu(pids) - cpuBefore) / 1000;
    return { mbPerSecond: bytes / 1e6 / seconds, cpuMsPer100Mb: cpuMs / (bytes / 1e8) };
  } finally {
    connection.close();
  }
}
