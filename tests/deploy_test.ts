/** The files of `deploy/` as the programs read them for which they are. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isThere, makeTempDir } from "./kit.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Of 10, by systemd's own count: "OK" ends there. */
const MAX_EXPOSURE = 3;

const ignore = !await isThere("systemd-analyze", ["--version"], "a look at the unit");

Deno.test({ name: "systemd takes the unit without a word, and finds little exposed", ignore }, async () => {
  await using folder = await makeTempDir();
  const unit = join(folder.path, "portway.service");
  const text = await readFile(join(root, "deploy", "portway.service"), "utf8");
  await writeFile(unit, text.replace("/usr/local/bin/portway", "/bin/true"));
  const analyze = async (...args: string[]) => {
    const { code, stdout, stderr } = await new Deno.Command("systemd-analyze", { args: [...args, unit] }).output();
    return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
  };
  assert.deepEqual(await analyze("verify"), { code: 0, said: "" });
  const { said } = await analyze("security", "--offline=true", "--no-pager");
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(said)?.[1]);
  assert(exposure < MAX_EXPOSURE, said);
});

Deno.test("every variable that the files set is one that the server reads", async () => {
  const known = await readFile(join(root, "docs", "configuration.md"), "utf8");
  for (const name of ["portway.env", "compose.yaml", "Dockerfile"]) {
    const text = await readFile(join(root, "deploy", name), "utf8");
    const variables = [...text.matchAll(/\b(PORTWAY_[A-Z_]+)\s*[=:]/g)].map(([, variable]) => variable);
    assert(variables.length > 1, name);
    for (const variable of variables) assert(known.includes(`\`${variable}\``), `${name}: ${variable}`);
  }
});
