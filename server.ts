import process from "node:process";
import { runProgram } from "./common/command_line/mod.ts";
import { serverProgram } from "./server/program.ts";

process.exit(await runProgram(serverProgram, process.argv.slice(2)));
