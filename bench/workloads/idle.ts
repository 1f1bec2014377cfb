import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMemory } from "../measure/process_stats.ts";
import { DENO } from "../programs/helpers.ts";
import { startPortwayServer } from "../programs/portway.ts";
import { startProgram } from "../programs/process.ts";

export interface IdleResult {
  /** Memory of the relay for each idle tunnel, in bytes. */
  relayBytes: number;
  /** The same of the process that holds the clients' ends. */
  clientBytes: number;
  /** Tunnels made and connected per second. */
  perSecond: number;
}

/** Tunnels opened before the first look, so that what is loaded and compiled once does not count. */
const WARM_UP = 100;
const OPENER = join(import.meta.dirname ?? ".", "_idle_tunnels.ts");
/** Both runtimes give memory back late; a moment of rest makes two looks comparable. */
const REST_MS = 1500;

/** Opens `count` tunnels of ours that carry nothing, on a server of their own, and looks at the memory. */
export async function measureIdleTunnels(count: number): Promise<IdleResult> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-idle-"));
  const server = await startPortwayServer(folder, ["--max-sessions-per-address", "1000000"]);
  const opener = startProgram(DENO, ["run", "-A", OPENER, `http://127.0.0.1:${server.port}`]);
  try {
    opener.send(String(WARM_UP));
    await opener.until(new RegExp(`^open ${WARM_UP}$`, "m"));
    await rest();
    const relayBefore = readMemory([server.pid]), clientBefore = readMemory([opener.pid]), started = performance.now();
    opener.send(String(count));
    await opener.until(new RegExp(`^open ${WARM_UP + count}$`, "m"), count * OPEN_MS);
    const seconds = (performance.now() - started) / 1000;
    await rest();
    return {
      relayBytes: (readMemory([server.pid]) - relayBefore) / count,
      clientBytes: (readMemory([opener.pid]) - clientBefore) / count,
      perSecond: count / seconds,
    };
  } finally {
    await opener.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How long a tunnel may take to open before the run is given up, in milliseconds. */
const OPEN_MS = 30;

const rest = () => new Promise<void>((resolve) => setTimeout(resolve, REST_MS));
