// Makes one attack: name, port, host, count. Says `ready` once the load is in place, and then what it has done, a line
// of JSON each half a second, until it is killed.
import process from "node:process";
import { attacks } from "./attacks.ts";
import type { Tally } from "./types.ts";

const [name, port, host, count] = process.argv.slice(2);
const tally: Tally = { opened: 0, ended: 0, sent: 0, answers: {} };
// Connections that break are what an attacker must expect.
process.on("uncaughtException", () => {});
await attacks[name]({ port: Number(port), host }, Number(count), tally);
process.stdout.write("ready\n");
setInterval(() => process.stdout.write(`${JSON.stringify(tally)}\n`), 500);
