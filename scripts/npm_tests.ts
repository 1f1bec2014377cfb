/**
 * `deno task test:npm`: builds the package for Node, installs it into an empty folder, and runs the black-box tests of
 * `tests/` with its programs under Node 24, or the release that `--node` names, in place of the source under Deno. Files
 * may be given; all otherwise. The last line is `N passed, N failed`.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseTestSummary, type Tally } from "./_test_summary.ts";
import { buildNpm } from "./build_npm.ts";
import { ROOT } from "./package/product_files.ts";
import { readFlag, runScript } from "./package/release.ts";
import { runTool } from "./package/run_tool.ts";

/** The release of Node that `--node` replaces. */
const NODE = "24";

/** Files whose tests do not concern the package, each with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  "attacks_test.ts": "its server runs in the process of the test",
  "chaos_test.ts": "minutes of broken connections, the same with either runtime's sockets as contract tests hold them",
  "install_test.ts": "installs the source",
  "descriptors_test.ts": "starts Deno itself and counts what that holds open",
  "h2spec_test.ts": "HTTP/2's own grammar, which is the same code; `http2_test.ts` runs",
  "library_test.ts": "imports the source; `npm_package_test.ts` imports the package",
  "links_test.ts": "reads documents",
  "npm_package_test.ts": "installs the package itself",
  "postgres_test.ts": "starts servers of the kit's own, which are source",
  "presence_test.ts": "starts servers of the kit's own, which are source",
  "persistent_nodes_test.ts": "starts servers of the kit's own, which are source",
  "usage_kill_test.ts": "starts servers of the kit's own, which are source",
  "executable_test.ts": "builds executables",
  "executable_smoke_test.ts": "builds executables",
  "release_files_test.ts": "tests the texts of a release",
  "executable_arm64_test.ts": "builds executables",
  "deploy_test.ts": "reads files of deployment",
  "start_test.ts": "reads what the source imports",
  "completion_test.ts": "gives shells a command that runs the source",
  "proxy_memory_test.ts": "a bound for the memory of Deno",
  "proxy_description_memory_test.ts": "a bound for the memory of Deno",
};

/** Tests to skip in the selected files: the runtime's own listener, and these commands, are Deno's. */
const PASSED_OVER = [
  String.raw`\(listener deno\)`,
  String.raw`\(deno\)`,
  "--listener deno",
  "the runtime's own listener",
  "a server that others can reach says what its operator overlooked",
];

/** Tests mostly wait, so several files run at once. */
const AT_A_TIME = 2;

/** Selects the test files, without browser tests and {@link LEFT_OUT}. */
export function chooseTests(files: readonly string[]): string[] {
  return files.filter((name) =>
    name.endsWith("_test.ts") && !/(?:^|_)browser_test\.ts$/.test(name) && !(name in LEFT_OUT)
  );
}

function install(folder: string): { node: string; installed: string } {
  const { file } = buildNpm(folder, { version: "0.0.0-test", form: "npm", releases: null, key: null });
  const place = join(folder, "place");
  mkdirSync(place);
  writeFileSync(join(place, "package.json"), '{"private":true}');
  runTool("npm", ["install", "--no-audit", "--no-fund", "--offline", file], place);
  const node = runTool("npx", ["-y", `node@${readFlag("--node") ?? NODE}`, "-p", "process.execPath"], place).trim();
  return { node, installed: join(place, "node_modules", "portway") };
}

/** Runs test files with an installed package in place of the source. */
async function runTests(files: readonly string[], node: string, installed: string): Promise<Tally> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--parallel", "--preload=scripts/_pass_tests_over.ts", ...files],
    cwd: ROOT,
    env: {
      PORTWAY_TEST_NODE: node,
      PORTWAY_TEST_PACKAGE: installed,
      PORTWAY_TEST_PASSED_OVER: PASSED_OVER.join("|"),
      DENO_JOBS: String(AT_A_TIME),
    },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let output = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    process.stdout.write(text);
    output += text;
  }
  const { success } = await child.status;
  const tally = parseTestSummary(output, success, (reason) => process.stdout.write(`FAILED: ${reason}\n`));
  // The output so far shows no test.
  return tally.passed === 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}

async function main(asked: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "portway-npm-tests-"));
  try {
    const { node, installed } = install(folder);
    const files = chooseTests(readdirSync(join(ROOT, "tests"))).map((name) => `tests/${name}`);
    const { passed, failed, skipped } = await runTests(asked.length > 0 ? asked : files, node, installed);
    process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} passed over` : ""}\n`);
    return failed === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) process.exit(await runScript(() => main(Deno.args.filter((arg) => arg.endsWith(".ts")))));
