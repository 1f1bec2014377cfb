import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort, whenListening } from "../programs/ports.ts";
import { type Program, startProgram } from "../programs/process.ts";
import type { IdleHost } from "../workloads/idle.ts";

/** A piko server with its visitor and agent ports. */
export interface PikoServer extends Program {
  proxyPort: number;
  upstreamPort: number;
}

export async function startPikoServer(piko: string): Promise<PikoServer> {
  const [proxyPort, upstreamPort, admin, gossip] = await Promise.all(
    Array.from({ length: 4 }, () => findFreePort()),
  );
  const program = startProgram(piko, [
    "server",
    ...["--proxy.bind-addr", `127.0.0.1:${proxyPort}`, "--upstream.bind-addr", `127.0.0.1:${upstreamPort}`],
    ...["--admin.bind-addr", `127.0.0.1:${admin}`, "--cluster.gossip.bind-addr", `127.0.0.1:${gossip}`],
    ...["--log.level", "error"],
  ]);
  await whenListening(upstreamPort);
  return { ...program, proxyPort, upstreamPort };
}

/** Starts a server, and one agent per batch. Each listener has its own connection. */
export async function startIdlePiko(piko: string): Promise<IdleHost> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-piko-"));
  const server = await startPikoServer(piko);
  const agents: Program[] = [];
  let total = 0;
  return {
    name: "piko",
    relay: server.pid,
    async open(count) {
      const listeners = Array.from({ length: count }, (_, i) => listener(`idle-${total + i}`)).join("");
      total += count;
      const file = join(folder, `${total}.yaml`), url = `http://127.0.0.1:${server.upstreamPort}`;
      writeFileSync(file, `connect:\n  url: ${url}\nlisteners:\n${listeners}`);
      const bind = `127.0.0.1:${await findFreePort()}`;
      const agent = startProgram(piko, ["agent", "start", "--config.path", file, "--server.bind-addr", bind]);
      agents.push(agent);
      await whenConnected(server.upstreamPort, total);
      return agent.pid;
    },
    async stop() {
      for (const agent of agents) await agent.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const listener = (id: string) => `  - endpoint_id: ${id}\n    addr: "9"\n    protocol: http\n    timeout: 30s\n`;

/** Counts tunnels by system connections to the agent port. */
async function whenConnected(port: number, count: number): Promise<void> {
  const wanted = new RegExp(`^ *\\d+: 0100007F:\\w+ 0100007F:${port.toString(16).toUpperCase().padStart(4, "0")} 01 `);
  for (let tries = 0; tries < 1200; tries++) {
    const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
    if (lines.filter((line) => wanted.test(line)).length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`fewer than ${count} tunnels came up in a minute`);
}
