import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort, whenListening } from "../programs/ports.ts";
import { CERTIFICATE, KEY, startTunnel } from "../programs/portway.ts";
import { startProgram } from "../programs/process.ts";
import type { Contestant } from "../programs/types.ts";
import { findBinary } from "./find.ts";
import { OURS } from "./report.ts";
import { startFrp } from "./tunnels.ts";

/** Starts the contestants that support client sessions over TLS with plain visitors: Portway and frp if installed. */
export async function startOverTls(service: number): Promise<Contestant[]> {
  const frps = findBinary("frps"), frpc = findBinary("frpc"), stunnel = findBinary("stunnel");
  const contestants: Contestant[] = [];
  if ("path" in stunnel) contestants.push(await startPortwayOverTls(stunnel.path, service));
  if ("path" in frps && "path" in frpc) contestants.push(await startFrp(frps.path, frpc.path, { service }, true));
  return contestants;
}

/** A proxy in front of the server ends TLS and counts as part of it. Visitors connect without TLS. */
async function startPortwayOverTls(stunnel: string, service: number): Promise<Contestant> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-tls-"));
  const pids: number[] = [], stops: (() => Promise<void>)[] = [];
  const between = async (relayPort: number) => {
    const port = await findFreePort(), file = join(folder, "stunnel.conf");
    writeFileSync(
      file,
      `foreground = yes\npid =\ndebug = 0\nsocket = l:TCP_NODELAY=1\nsocket = r:TCP_NODELAY=1\n[session]\n` +
        `accept = 127.0.0.1:${port}\nconnect = 127.0.0.1:${relayPort}\ncert = ${CERTIFICATE}\nkey = ${KEY}\n`,
    );
    const program = startProgram(stunnel, [file]);
    pids.push(program.pid);
    stops.push(program.stop);
    await whenListening(port);
    return port;
  };
  const contestant = await startTunnel(OURS, { service, between }, {}, { trusts: true });
  return {
    ...contestant,
    relay: [...contestant.relay, ...pids],
    async stop() {
      await contestant.stop();
      for (const stop of stops) await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
