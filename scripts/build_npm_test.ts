import { deepEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("build_npm.ts", import.meta.url));

/** Runs the script with variables that hide a program. */
async function build(missing: Record<string, string>): Promise<{ code: number; said: string }> {
  const args = ["run", "-A", "--no-check", SCRIPT];
  const run = new Deno.Command(Deno.execPath(), {
    args,
    env: missing,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  const { code, stdout, stderr } = await run.output();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("build:npm reports in one line that tar is missing", async () => {
  deepEqual(await build({ PATH: "/nowhere" }), { code: 1, said: "cannot run tar: it is not on PATH\n" });
});
