/** A server that other nodes ask for its sessions. Prints where it is, and where it is asked, as one JSON line. */
import { createLogger } from "../../common/log.ts";
import { resolveOptions } from "../../common/options.ts";
import { serverOptions } from "../../server/config.ts";
import { startServer } from "../../server/main.ts";
import { NodePresence } from "./node_presence.ts";

const [dataDir] = Deno.args;
const presence = new NodePresence();
const config = resolveOptions(serverOptions, { flags: { port: "0", dataDir }, env: {} });
const server = await startServer(config, createLogger(), { presence, sharesFolder: true });
const line = { event: "listening", url: server.url.origin, presence: presence.port };
await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
