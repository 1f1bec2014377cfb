/** The tunnel goes on whatever becomes of what it prints: a reader that stops, one that leaves, a full disk. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { makeTempDir, startServer, startSite, visit, within } from "./kit.ts";

const CLI = fileURLToPath(new URL("../cli.ts", import.meta.url));

/** A program whose standard output is the test's to read, or not to. `command` comes before it. */
function startClient(args: string[], command: [string, ...string[]] = [Deno.execPath()]) {
  const child = new Deno.Command(command[0], {
    args: [...command.slice(1), "run", "-A", CLI, ...args],
    env: { PORTWAY_SERVER: "" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  return {
    output: child.stdout,
    errors,
    async stop(): Promise<number> {
      child.kill("SIGINT");
      return (await within("the client's end", child.status)).code;
    },
    async [Symbol.asyncDispose]() {
      if (!child.stdout.locked) await child.stdout.cancel();
      try {
        child.kill("SIGKILL");
      } catch (error) {
        // It has ended.
        if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
      }
    },
  };
}

/** The URL that a client prints first, and the reader of the rest. */
async function readUrl(output: ReadableStream<Uint8Array>) {
  const reader = output.getReader();
  const { value } = await within("the first line", reader.read());
  return { url: String(JSON.parse(new TextDecoder().decode(value)).url), reader };
}

async function visitOften(url: string): Promise<void> {
  // More lines than a pipe holds, several times.
  const long = "x".repeat(8000);
  for (let count = 0; count < 50; count++) {
    assert.equal(await (await visit(`${url}/text?${count}${long}`)).text(), "hello");
  }
}

Deno.test("a reader that stops reading the output stops no visitor, and Ctrl+C still ends the client", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using config = await makeTempDir();
  const args = ["-e", String(site.port), "--server", server.url, "--json", "--config-dir", config.path];
  await using client = startClient(args);
  const { url, reader } = await readUrl(client.output);
  await visitOften(url);
  assert.equal(await client.stop(), 0);
  await reader.cancel();
});

Deno.test("a reader that closes the output leaves the tunnel open", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using config = await makeTempDir();
  const args = ["-e", String(site.port), "--server", server.url, "--json", "--config-dir", config.path];
  await using client = startClient(args);
  const { url, reader } = await readUrl(client.output);
  await reader.cancel();
  await visitOften(url);
  assert.equal(await client.stop(), 0);
  assert.match(await client.errors, /^portway: nothing more is shown: [^\n]+\n$/);
});

Deno.test({
  name: "a full disk under the output ends neither the client nor the server",
  // Where the disk is always full.
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using config = await makeTempDir();
    await using server = await startServer();
    const toFullDisk: [string, ...string[]] = ["sh", "-c", 'exec "$0" "$@" >/dev/full', Deno.execPath()];
    const common = ["--config-dir", config.path];
    await using client = startClient(["-e", "3000", "--server", server.url, ...common], toFullDisk);
    await server.whenHealth(({ sessions }) => sessions === 1);
    assert.equal(await client.stop(), 0);
    assert.match(await client.errors, /^portway: nothing more is shown: No space left[^\n]*\n$/);

    const port = findFreePort();
    await using other = startClient(["server", "--port", String(port), "--data-dir", config.path], toFullDisk);
    await within("the server", whenAnswers(`http://127.0.0.1:${port}/health`));
    assert.equal(await other.stop(), 0);
    assert.match(await other.errors, /output_failed/);
    assert.doesNotMatch(await other.errors, /defect/);
  },
});

function findFreePort(): number {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  return listener.addr.port;
}

/** What it prints cannot be read here, so it is asked until it answers. */
async function whenAnswers(url: string): Promise<void> {
  for (;;) {
    const answer = await visit(url).catch(() => null);
    if (answer !== null) return void await answer.bytes();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
