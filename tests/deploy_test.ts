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

/** A line about another unit: systemd tells what it finds in all that ours leads to, on whatever machine this is. */
const OF_ANOTHER =
  /^(?:\/.*\/)?(?!portway\.service:)[\w@\\:-][\w.@\\:-]*\.(?:service|socket|target|mount|slice):.*\n/gm;

Deno.test({ name: "systemd takes the unit without a word, and finds little exposed", ignore }, async () => {
  await using folder = await makeTempDir();
  const unit = join(folder.path, "portway.service");
  const text = await readFile(join(root, "deploy", "portway.service"), "utf8");
  const here = text.replace("/usr/local/bin/portway", "/bin/true").replace(/^Wants=.*/m, "$& another.service");
  await writeFile(unit, here);
  await writeFile(join(folder.path, "another.service"), "[Service]\nExecStart=/bin/true\nOdd=yes\n");
  const analyze = async (...args: string[]) => {
    const { code, stdout, stderr } = await new Deno.Command("systemd-analyze", { args: [...args, unit] }).output();
    return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
  };
  const verify = async () => {
    const { code, said } = await analyze("verify");
    return { code, said: said.replaceAll(OF_ANOTHER, "") };
  };
  assert.deepEqual(await verify(), { code: 0, said: "" });
  await writeFile(unit, `${here}Odd=yes\n`);
  assert.match((await verify()).said, /^\S+\/portway\.service:\d+: Unknown key/);
  await writeFile(unit, here);
  const { said } = await analyze("security", "--offline=true", "--no-pager");
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(said)?.[1]);
  assert(exposure < MAX_EXPOSURE, said);
});

Deno.test("every variable that the files set is one that the program reads", async () => {
  const known = await readFile(join(root, "docs", "reference", "configuration.md"), "utf8");
  for (const name of ["portway.env", "compose.yaml", "Dockerfile"]) {
    const text = await readFile(join(root, "deploy", name), "utf8");
    const variables = [...text.matchAll(/\b(PORTWAY_[A-Z_]+)\s*[=:]/g)].map(([, variable]) => variable);
    assert(variables.length > 1, name);
    // The client names the image when it explains an upgrade.
    for (const variable of variables.filter((one) => one !== "PORTWAY_IMAGE")) {
      assert(known.includes(`\`${variable}\``), `${name}: ${variable}`);
    }
  }
});
