/** A server with the made-up member `ann`, in a process of its own. Prints where it is as one JSON line. */
import { createLogger } from "../../common/log.ts";
import { resolveOptions } from "../../common/options.ts";
import { serverOptions } from "../../server/config.ts";
import { startServer } from "../../server/main.ts";
import { Members } from "./members.ts";

const [dataDir] = Deno.args;
const members = new Members();
members.add("ann");
const config = resolveOptions(serverOptions, { flags: { port: "0", dataDir }, env: {} });
const server = await startServer(config, createLogger(), { members });
await Deno.stdout.write(
  new TextEncoder().encode(`${JSON.stringify({ event: "listening", url: server.url.origin })}\n`),
);
