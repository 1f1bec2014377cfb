import process from "node:process";
import { main } from "./client/main.ts";
import { serverOptions } from "./server/config.ts";

// The server is loaded only when it is wanted: the client starts faster without it.
const server = () => import("./server/run.ts");
process.exit(
  await main(process.argv.slice(2), {
    options: serverOptions,
    run: async (flags) => await (await server()).runServer(flags),
    startEmbeddedRelay: async (port, dataDir) => await (await server()).startEmbeddedRelay(port, dataDir),
  }),
);
