/** Test program `<folder> <server>`: renews a login after its standard input ends, and prints the current token. */
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
