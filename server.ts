import process from "node:process";
import { main } from "./server/run.ts";

process.exit(await main(process.argv.slice(2)));
