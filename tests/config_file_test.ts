/** `--config`: a server and a client that are told everything in a file. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTempDir, runProgram, startProgram, startSite, visit } from "./kit.ts";

Deno.test("a server and a client take their options from files, and flags go before them", async () => {
  await using folder = await makeTempDir();
  await using site = startSite();
  const write = async (name: string, options: unknown) => {
    await writeFile(join(folder.path, name), JSON.stringify(options));
    return join(folder.path, name);
  };
  const dataDir = join(folder.path, "data");
  const ofServer = await write("server.json", {
    $schema: "./s.json",
    port: 0,
    dataDir,
    json: true,
    ephemeralSeconds: 5,
  });
  await using server = startProgram({
    entry: "server.ts",
    args: ["--config", ofServer, "--ephemeral-seconds", "1000"],
  });
  const { url } = await server.events.waitFor("listening");
  const configDir = join(folder.path, "config");
  const ofClient = await write("client.json", { server: url, expose: [site.port], configDir, json: true });
  await using client = startProgram({ entry: "cli.ts", args: ["--config", ofClient] });
  const opened = await client.events.waitFor("open");
  assert.equal(await (await visit(`${opened.url}/text`)).text(), "hello");
  assert(Date.parse(String(opened.expiresAt)) - Date.now() > 900_000, JSON.stringify(opened));
});

for (const entry of ["server.ts", "cli.ts"] as const) {
  Deno.test(`${entry} names a configuration file that is of no use, and what in it`, async () => {
    await using folder = await makeTempDir();
    const file = join(folder.path, "mine.json");
    const key = entry === "server.ts" ? "maxStreams" : "loginPort";
    const refused: [content: string, says: string][] = [
      [JSON.stringify({ [key]: 99999 }), `portway: ${file}: ${key}: cannot use "99999": a whole number from 1 to `],
      [JSON.stringify({ [`${key}s`]: 1 }), `portway: ${file}: there is no option "${key}s": did you mean ${key}?`],
      ["{", `portway: --config: cannot use "${file}": `],
    ];
    for (const [content, says] of refused) {
      await writeFile(file, content);
      const { code, output, errors } = await runProgram({ entry, args: ["--config", file] });
      assert.deepEqual([code, output, errors.startsWith(says)], [2, "", true], errors);
    }
  });
}
