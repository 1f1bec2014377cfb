import { EchoSocket } from "../load/mod.ts";
import { readCpu } from "../measure/process_stats.ts";
import { median } from "../measure/stats.ts";
import type { Contestant } from "../programs/types.ts";

export interface EchoResult {
  messagesPerSecond: number;
  /** CPU microseconds in relay and client per message and echo. */
  cpuUs: number;
  /** Round-trip time for a single message, the median, in milliseconds. */
  latencyMs: number;
}

/** Busy WebSockets, and messages in flight on each. */
const SOCKETS = 8;
const IN_FLIGHT = 16;
const ALONE = 200;

/** Measures small text messages to an echo and back. */
export async function measureEcho({ endpoint, relay, client }: Contestant, seconds: number): Promise<EchoResult> {
  const sockets: EchoSocket[] = [];
  try {
    for (let i = 0; i < SOCKETS; i++) sockets.push(await EchoSocket.open(endpoint));
    const latencyMs = await measureAlone(sockets[0]);
    const pids = [...relay, ...client];
    const before = readCpu(pids), started = performance.now();
    const counts = await Promise.all(sockets.map((socket) => keepBusy(socket, started + seconds * 1000)));
    const messages = counts.reduce((sum, count) => sum + count, 0);
    const took = (performance.now() - started) / 1000;
    return { messagesPerSecond: messages / took, cpuUs: (readCpu(pids) - before) / messages, latencyMs };
  } finally {
    for (const socket of sockets) socket.close();
  }
}

async function measureAlone(socket: EchoSocket): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < ALONE; i++) {
    const started = performance.now();
    await socket.send(1);
    await socket.receive();
    times.push(performance.now() - started);
  }
  return median(times);
}

/** Sends a message for every received one. Returns the number received. */
async function keepBusy(socket: EchoSocket, until: number): Promise<number> {
  await socket.send(IN_FLIGHT);
  let received = 0;
  while (performance.now() < until) {
    const count = await socket.receive();
    received += count;
    await socket.send(count);
  }
  for (let left = IN_FLIGHT; left > 0;) left -= await socket.receive();
  return received;
}
