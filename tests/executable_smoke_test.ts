/** The executable with Node's runtime for Linux x64: built, run by the suite, and upgraded. */
import { deepEqual, equal } from "node:assert/strict";
import { copyFile, mkdir, readdir, stat } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { createRelease, createSigningKey, startReleaseServer } from "../client/upgrade/_release_server.ts";
import { nameExecutable } from "../client/upgrade/mod.ts";
import { compileAll } from "../scripts/compile.ts";
import { tryAll } from "./executable_kit.ts";
import { makeTempDir, runProgram, startProgram, withExecutable } from "./kit/mod.ts";

const VERSION = "1.2.3", HOST = "x86_64-unknown-linux-gnu";

Deno.test({
  name: "the executable with Node's runtime passes the suite, and upgrades itself",
  ignore: process.platform !== "linux" || process.arch !== "x64",
  async fn(t) {
    await using folder = await makeTempDir();
    const key = createSigningKey(), newer = nameExecutable(HOST, "node", "1.10.0");
    const release = createRelease({ [newer]: "#!/bin/sh\necho 1.10.0\n" }, key);
    await using server = await startReleaseServer(release);
    const build = { version: VERSION, form: "node", releases: server.releases, key: key.publicKey } as const;
    const [host] = await compileAll(folder.path, "node", build, [HOST]);

    await t.step("on this system", async (t) => {
      await tryAll(t, { command: [host], version: VERSION, runtime: "node" });
    });
    await t.step("an interrupted upgrade changes no file, and the next one replaces the program", async () => {
      const place = join(folder.path, "bin"), file = join(place, "portway");
      await mkdir(place);
      await copyFile(host, file);
      await withExecutable({ command: [file], env: {} }, async () => {
        server.handle = stall;
        await using stopped = startProgram({ entry: "cli.ts", args: ["upgrade"] });
        await stopped.output.waitFor(/^Downloading/);
        while ((await readdir(place)).length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
        stopped.kill("SIGINT");
        equal((await stopped.ended).code, 1);
        equal(stopped.errors.text, "portway: the upgrade was interrupted, and changed no file");
        deepEqual(await readdir(place), ["portway"]);
        server.handle = null;
        const { code, output } = await runProgram({ entry: "cli.ts", args: ["upgrade"] });
        deepEqual([code, output.split("\n").length], [0, 3], output);
        equal((await runProgram({ entry: "cli.ts", args: ["--version"] })).output, "1.10.0");
      });
      deepEqual(await readdir(place), ["portway", "portway.old"]);
      equal((await stat(`${file}.old`)).size, (await stat(host)).size);
    });
  },
});

/** Begins a download that does not end. */
function stall(name: string, response: ServerResponse): boolean {
  if (!name.startsWith("portway-")) return false;
  response.writeHead(200, { "content-length": 1000 });
  response.write("half");
  return true;
}
