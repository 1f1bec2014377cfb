import { DENO } from "./helpers.ts";
import { findFreePort, whenListening } from "./ports.ts";
import { startProgram } from "./process.ts";
import type { Contestant, ContestantOptions, StartContestant } from "./types.ts";

/**
 * A bare relay and client, `relay.ts <port>` and `client.ts <relay port> <service port>` in a folder: the minimum for
 * the task. Supports only responses with a length, few 10 KB responses at once, no request bodies and no WebSockets.
 */
export function createFloor(folder: string): StartContestant {
  return async ({ service, between }: ContestantOptions): Promise<Contestant> => {
    const port = await findFreePort();
    const relay = startProgram(DENO, ["run", "-A", "relay.ts", String(port)], { cwd: folder });
    await whenListening(port);
    const relayPort = await between?.(port) ?? port;
    const client = startProgram(DENO, ["run", "-A", "client.ts", String(relayPort), String(service)], { cwd: folder });
    await client.until(/open/);
    return {
      name: "floor",
      endpoint: { port, host: `127.0.0.1:${port}` },
      relay: [relay.pid],
      client: [client.pid],
      lacks: new Set(["upload", "websocket", "stream", "json"]),
      async stop() {
        await client.stop();
        await relay.stop();
      },
    };
  };
}
