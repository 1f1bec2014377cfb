import process from "node:process";
import { main } from "./client/main.ts";
import { loadEmbeddedRelay, serverCommands } from "./server/program.ts";

process.exit(await main(process.argv.slice(2), { commands: serverCommands, startEmbeddedRelay: loadEmbeddedRelay }));
