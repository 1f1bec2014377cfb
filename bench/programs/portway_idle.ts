import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IdleHost } from "../workloads/idle.ts";
import { DENO } from "./helpers.ts";
import { startPortwayServer } from "./portway.ts";
import { startProgram } from "./process.ts";

const OPENER = join(import.meta.dirname ?? ".", "_idle_tunnels.ts");
/** Time limit for opening one tunnel, in milliseconds. */
const OPEN_MS = 50;

/** Starts a server, and one process that opens tunnels with the library. */
export async function startIdlePortway(): Promise<IdleHost> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-idle-"));
  const limits = ["--max-sessions-per-address", "1000000", "--max-connections-per-address", "1000000"];
  const server = await startPortwayServer(folder, limits);
  const opener = startProgram(DENO, ["run", "-A", OPENER, `http://127.0.0.1:${server.port}`]);
  let total = 0;
  return {
    name: "portway",
    relay: server.pid,
    async open(count) {
      total += count;
      opener.send(String(count));
      await opener.until(new RegExp(`^open ${total}$`, "m"), 10_000 + count * OPEN_MS);
      return opener.pid;
    },
    async stop() {
      await opener.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
