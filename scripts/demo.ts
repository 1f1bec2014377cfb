/**
 * `deno task demo`: a sample site, a relay and a tunnel to it in one process, until Ctrl+C. Arguments go to `portway`.
 */
import process from "node:process";
import { main } from "../client/main.ts";
import { loadEmbeddedRelay, serverCommands } from "../server/program.ts";
import { startDemoSite } from "./demo_site/site.ts";

const site = startDemoSite();
const args = ["--expose", String(site.port), "--show-qr", ...process.argv.slice(2)];
// The site ends with the demo.
const code = await main(args, { commands: serverCommands, startEmbeddedRelay: loadEmbeddedRelay }, { isKept: false });
await site.close();
process.exit(code);
