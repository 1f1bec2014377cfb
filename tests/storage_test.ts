/** A server whose disk fails says so, refuses what it could not keep, and goes on with what it has. */
import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LineLog, makeTempDir, startServer, startSite, startTunnel, visit, within } from "./kit.ts";
import { TextLineStream } from "./kit/text_lines.ts";
import { startViewsServer } from "./views_kit.ts";

const SERVER = fileURLToPath(new URL("../server.ts", import.meta.url));

const createTunnel = (url: string) => visit(`${url}/api/v1/tunnels/ephemeral`, { method: "POST" });

Deno.test("a server whose database is deleted refuses new tunnels and says so until it is back", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site });
  const database = join(server.dataDir, "portway.db");
  await rename(database, `${database}.gone`);

  const refused = await createTunnel(server.url);
  assert.deepEqual([refused.status, refused.headers["portway-error"]], [503, "storage_failed"]);
  await server.whenHealth(({ status }) => status === "storage_failed");
  const line = await server.errors.waitFor((text) => text.includes("storage_failed"));
  assert.match(line, /deleted or replaced/);
  assert.equal((await visit(`${tunnel.url}/`)).status, 200);

  await rename(`${database}.gone`, database);
  await server.whenHealth(({ status }) => status === "ok");
  assert.equal((await createTunnel(server.url)).status, 201);
  await server.errors.waitFor((text) => text.includes("storage_recovered"));
  assert.equal(server.errors.text.split("storage_failed").length, 2, "one line about it");
});

Deno.test({
  name: "a server whose disk is full refuses new tunnels in one line, without a stack",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using data = await makeTempDir();
    const limits = `trap '' XFSZ; ulimit -f 2048; exec "$0" "$@"`;
    const args = ["run", "-A", SERVER, "--json", "--port", "0", "--data-dir", data.path];
    const child = new Deno.Command("sh", {
      args: ["-c", limits, Deno.execPath(), ...args, "--tunnels-per-minute", "100000"],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const errors = new LineLog("the server's log");
    const logged = (async () => {
      const lines = child.stderr.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
      for await (const line of lines) errors.add(line);
      errors.end();
    })();
    const output = child.stdout.getReader();
    const { value } = await within("the server", output.read());
    const { url } = JSON.parse(new TextDecoder().decode(value)) as { url: string };
    try {
      await within("a refusal", whenRefused(url));
      for (let count = 0; count < 5; count++) await createTunnel(url);
      const health = await (await visit(`${url}/health`)).json() as { status: string };
      assert.equal(health.status, "storage_failed");
      await errors.waitFor((line) => line.includes("storage_failed"));
      for (let count = 0; count < 5; count++) await createTunnel(url);
    } finally {
      await output.cancel();
      child.kill("SIGKILL");
      await child.status;
    }
    await logged;
    assert.equal(errors.text.match(/storage_failed/g)?.length, 1, errors.text);
    assert.doesNotMatch(errors.text, /stack=|request_failed/);
  },
});

async function whenRefused(url: string): Promise<void> {
  for (;;) {
    const { status, headers } = await createTunnel(url);
    if (status === 201) continue;
    return assert.deepEqual([status, headers["portway-error"]], [503, "storage_failed"]);
  }
}

Deno.test({
  name: "a call to a view gets 503 with Retry-After while the disk is full, and no log line has a stack",
  ignore: Deno.build.os !== "linux" || Deno.uid() !== 0,
  async fn() {
    await using data = await makeTempDir();
    await mountSmall(data.path);
    await using _mounted = { [Symbol.asyncDispose]: () => run("umount", "-l", data.path) };
    await using views = await startViewsServer({ dataDir: data.path });
    const { captureUrl } = await views.addView("full");
    const call = () => visit(captureUrl, { method: "POST", body: "x".repeat(20_000) });
    const seen = new Set<string>();
    let refused = 0;
    for (let count = 0; refused < 20 && count < 2000; count++) {
      const { status, headers } = await call();
      if (status === 200) continue;
      refused++;
      seen.add(`${status} ${headers["portway-error"]} ${headers["retry-after"]}`);
    }
    assert.deepEqual([...seen], ["503 storage_failed 60"]);
    await views.server.whenHealth(({ status }) => status === "storage_failed");
    await views.server.errors.waitFor((line) => line.includes("storage_failed"));
    assert.doesNotMatch(views.server.errors.text, /stack=|request_failed/);
  },
});

/** Puts a disk of 6 MB below a folder. */
async function mountSmall(path: string): Promise<void> {
  await run("mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", path);
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}
