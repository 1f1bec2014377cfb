/**
 * `deno task demo`: a sample site, a relay and a tunnel to it in one process, until Ctrl+C. Arguments go to `portway`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { main } from "../client/main.ts";
import { serverProgram } from "../server/program.ts";
import { startDemoSite } from "./demo_site/site.ts";

const site = startDemoSite();
const folder = mkdtempSync(join(tmpdir(), "portway-demo-"));
const args = ["--expose", String(site.port), "--show-qr", "--config-dir", folder, ...process.argv.slice(2)];
const code = await main(args, serverProgram);
await site.close();
rmSync(folder, { recursive: true });
process.exit(code);
