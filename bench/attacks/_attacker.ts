// Runs one attack: name, port, host, count. Prints `ready` once the load is in place, then one JSON line with its
// results each half a second, until it is killed.
import process from "node:process";
import { attacks } from "./attacks.ts";
import type { Tally } from "./types.ts";

const [name, port, host, count] = process.argv.slice(2);
const tally: Tally = { opened: 0, ended: 0, sent: 0, answers: {} };
// Attackers expect broken connections.
process.on("uncaughtException", () => {});
await attacks[name]({ port: Number(port), host }, Number(count), tally);
process.stdout.write("ready\n");
setInterval(() => process.stdout.write(`${JSON.stringify(tally)}\n`), 500);
