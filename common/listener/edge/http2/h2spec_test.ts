/** HTTP/2 on Deno against h2spec, a conformance suite of others; bench/README.md says how to get it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { startServer } from "./_test_program.ts";
import type { ListenerKind } from "../../types.ts";

const CASES = 145;
const h2spec = process.env.PORTWAY_H2SPEC ?? "h2spec";
const isInstalled = await runH2spec(["--version"]).then(() => true, (error) => {
  if (error.code !== "ENOENT") throw error;
  return false;
});

async function runH2spec(args: string[]): Promise<string> {
  const child = spawn(h2spec, args);
  let output = "";
  child.stdout.on("data", (data) => output += data);
  child.stderr.on("data", (data) => output += data);
  await once(child, "close");
  return output;
}

for (const kind of ["edge", "deno"] satisfies ListenerKind[]) {
  Deno.test({
    name: `HTTP/2, listener ${kind} on deno: all cases of h2spec pass` +
      (isInstalled ? "" : ": left out, as h2spec is not on the path; PORTWAY_H2SPEC=<path> names it"),
    ignore: !isInstalled,
    async fn() {
      await using server = await startServer("deno", kind);
      // It sends more on a request that it has not ended, and looks for an error: what has been answered has none.
      const output = await runH2spec(["-h", "127.0.0.1", "-p", String(server.port), "-t", "-k", "-P", "/late"]);
      assert(output.includes(`${CASES} tests, ${CASES} passed, 0 skipped, 0 failed`), output);
      await server.whenStats(({ connections }) => connections <= 1);
    },
  });
}
