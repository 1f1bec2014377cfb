// Opens idle tunnels in one process: arguments are the server URL; each stdin line "<count>
// " opens that many more. Prints "open <total>" once all are open.
import { createInterface } from "node:readline";
import process from "node:process";
import { createEphemeralTunnel, createUpstream, runTunnel } from "../../client/tunnel/mod.ts";
import { openConnector } from "../../net/connection/mod.ts";

/** Tunnels that open concurrently. */
const AT_A_TIME = 32;

const server = new URL(process.argv[2]);
const connect = openConnector();
const target = createUpstream({ url: new URL("http://127.0.0.1:9"), connect, hostHeader: null });
const { signal } = new AbortController();
let total = 0;

async function openTunnel(): Promise<void> {
  const tunnel = await createEphemeralTunnel(connect, server);
  await new Promise<void>((resolve) => {
    const events = { onConnected: resolve, onRequest() {}, onDraining() {}, onReconnecting() {} };
    runTunnel({ connect, server, tunnel, target, signal, events });
  });
  total++;
}

async function openTunnels(count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await openTunnel();
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}

for await (const line of createInterface({ input: process.stdin })) {
  await openTunnels(Number(line));
  process.stdout.write(`open ${total}\n`);
}
