/** Renews a login as a program of its own would, once its input ends: `<folder> <server>`. Prints the token it has. */
import process from "node:process";
import { text } from "node:stream/consumers";
import { openConnector } from "../../net/connection/mod.ts";
import { Logins } from "./logins.ts";
import { createStoredTokens } from "./tokens.ts";

const [folder, server] = process.argv.slice(2);
process.stdout.write("ready\n");
await text(process.stdin);
const tokens = createStoredTokens({ server: new URL(server), connect: openConnector(), logins: new Logins(folder) });
process.stdout.write(`${await tokens.current()}\n`);
