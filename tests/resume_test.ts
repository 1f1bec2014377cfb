/** What the client keeps of a tunnel, what --resume makes of it, and what goes without. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTempDir, runProgram, startServer, startSite, startTunnel, visit } from "./kit.ts";

Deno.test("--resume keeps the Host that the service is to see, unless another one is given", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using config = await makeTempDir();
  const start = (args: string[], target?: typeof site) => startTunnel({ server, target, args, configDir: config.path });
  const cases: [args: string[], host: string][] = [
    [["--host-header", "first.test"], "first.test"],
    [["--resume"], "first.test"],
    [["--resume", "--host-header", "second.test:80"], "second.test:80"],
    [["--resume"], "second.test:80"],
  ];
  for (const [args, host] of cases) {
    await using tunnel = await start(args, args.includes("--resume") ? undefined : site);
    const { headers } = await (await visit(`${tunnel.url}/inspect`)).json() as { headers: [string, string][] };
    assert.equal(new Headers(headers).get("host"), host, args.join(" "));
    await tunnel.stop();
  }
});

Deno.test("a folder that cannot be written to costs the client's own server its memory, not the tunnel", async () => {
  await using site = startSite();
  await using config = await makeTempDir();
  await writeFile(join(config.path, "file"), "");
  await using tunnel = await startTunnel({ target: site, configDir: join(config.path, "file", "below") });
  await tunnel.events.waitFor("note", ({ text }) => /running one here/.test(String(text)));
  await tunnel.events.waitFor("note", ({ text }) => /^--resume will not find .*: cannot open/.test(String(text)));
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  assert.equal((await tunnel.stop()).summary.reason, "The tunnel was stopped.");
});

Deno.test("a tunnel is not taken back by a server that has lost what it knew", async () => {
  await using site = startSite();
  await using tunnel = await startTunnel({ target: site });
  await tunnel.stop();
  await writeFile(join(tunnel.configDir, "relay", "portway.db"), "no database any more".repeat(1000));
  const { code, errors } = await runProgram({ entry: "cli.ts", args: ["--resume", "--config-dir", tunnel.configDir] });
  assert.equal(code, 1);
  assert.match(errors, /cannot take http.* back: cannot open the database/);
  assert.equal(errors.split("\n").length, 1, errors);
});
