/** The server's HTTP/2 against h2spec, a conformance suite of others; bench/README.md says how to get it. */
import assert from "node:assert/strict";
import { delay } from "../common/delay.ts";
import { startServer, visit } from "./kit.ts";
import { startTestUpstream } from "./proxy_kit.ts";

const testdata = new URL("../net/connection/testdata/", import.meta.url);
const file = (name: string) => new URL(name, testdata).pathname;
const TLS = ["--tls-cert", file("leaf.pem"), "--tls-key", file("leaf.key")];
const CASES = 145;
/** Some cases send more on a request they have not ended, and look for an error: what has been answered has none. */
const LATE_MS = 50;

const h2spec = Deno.env.get("PORTWAY_H2SPEC") ?? "h2spec";
const isInstalled = await runH2spec(["--version"]).then(() => true, (error) => {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
  return false;
});

async function runH2spec(args: string[]): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(h2spec, { args }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

for (const listener of ["edge", "deno"]) {
  Deno.test({
    name: `HTTP/2: all cases of h2spec pass (listener ${listener})` +
      (isInstalled ? "" : ": left out, as h2spec is not on the path; PORTWAY_H2SPEC=<path> names it"),
    ignore: !isInstalled,
    async fn() {
      await using late = startTestUpstream(async () => {
        await delay(LATE_MS);
        return new Response("answered late");
      });
      await using server = await startServer({
        args: [...TLS, "--listener", listener, "--proxy-allow", "127.0.0.1"],
      });
      const target = ["-h", "127.0.0.1", "-p", String(server.port), "-P", `/proxy/fetch/${late.url}/`];
      const output = await runH2spec([...target, "-t", "-k"]);
      assert(output.includes(`${CASES} tests, ${CASES} passed, 0 skipped, 0 failed`), output);
      const health = await visit(`${server.url}/health`, { ca: Deno.readTextFileSync(file("ca.pem")) });
      assert.match(await health.text(), /"streams":0\b/);
    },
  });
}
