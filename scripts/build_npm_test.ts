import { deepEqual, match } from "node:assert/strict";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("build_npm.ts", import.meta.url));

/** Runs the script in a world where something is missing. */
async function build(missing: Record<string, string>): Promise<{ code: number; said: string }> {
  const args = ["run", "-A", "--no-check", SCRIPT];
  // Git tells it in the language of whoever runs this.
  const env = { LC_ALL: "C", ...missing };
  const run = new Deno.Command(Deno.execPath(), { args, env, stdin: "null", stdout: "piped", stderr: "piped" });
  const { code, stdout, stderr } = await run.output();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("build:npm says in one line that git is missing", async () => {
  deepEqual(await build({ PATH: "/nowhere" }), { code: 1, said: "git is needed for this, and is not on PATH\n" });
});

Deno.test("build:npm says in one line that its folder is no repository", async () => {
  const { code, said } = await build({ GIT_DIR: "/nowhere" });
  deepEqual(code, 1);
  match(said, /^git ls-files failed: fatal: not a git repository: .*\n$/);
});
