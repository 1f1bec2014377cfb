import process from "node:process";
import { main } from "./client/main.ts";
import { serverCommands, startEmbeddedRelay } from "./server/program.ts";

process.exit(await main(process.argv.slice(2), { commands: serverCommands, startEmbeddedRelay }));
