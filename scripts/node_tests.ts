/**
 * Runs the tests for code that supports Node under Node itself: HTTP/1 syntax, connections and listener with their Node
 * drivers, WebSocket frames, the protocol. The files are the same as for `deno test`. Node is the one on PATH, or comes
 * from npm.
 *
 * Runs the given files, or all in {@link FOLDERS}. Exits with 1 when a test failed.
 */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { nameCommand } from "../common/platform/mod.ts";
import type { Tally } from "./_test_summary.ts";

/** Types are stripped by it without being asked. */
const LEAST_NODE = 24;
const FOLDERS = [
  "net/connection",
  "net/http1",
  "net/listener",
  "net/websocket",
  "protocol",
  "server/relay",
];
/** Tests for Deno's own features: native calls, and `Deno.serve`. */
const DENO_ONLY = new Set([
  "net/connection/keep_alive_test.ts",
  "net/connection/socket_options/socket_options_test.ts",
  "net/connection/pacing/pacing_test.ts",
]);
/** A test that takes longer hangs. */
const TEST_TIMEOUT_MS = 30_000;

const root = new URL("..", import.meta.url);

function findTests(): string[] {
  const inside = (folder: string) => readdirSync(new URL(folder, root), { encoding: "utf8", recursive: true });
  const files = FOLDERS.flatMap((folder) => inside(folder).map((file) => `${folder}/${file.replaceAll("\\", "/")}`));
  return files.filter((file) => file.endsWith("_test.ts") && !DENO_ONLY.has(file)).sort();
}

/** The command line of a Node that is new enough, or the reason why there is none. */
async function findNode(): Promise<{ command: string[] } | { reason: string }> {
  const here = await readVersion(["node"]);
  if (Number(/^v(\d+)\./.exec(here)?.[1]) >= LEAST_NODE) return { command: ["node"] };
  const fromNpm = [nameCommand("npx"), "-y", `node@${LEAST_NODE}`];
  const there = await readVersion(fromNpm);
  if (there.startsWith("v")) return { command: fromNpm };
  return { reason: `Node ${LEAST_NODE} is not on PATH, and "${fromNpm.join(" ")}" failed: ${there}` };
}

/** Returns Node's version, or the last line of its error. */
async function readVersion([command, ...args]: string[]): Promise<string> {
  try {
    const run = new Deno.Command(command, { args: [...args, "--version"], stdin: "null" });
    const { success, stdout, stderr } = await run.output();
    return new TextDecoder().decode(success ? stdout : stderr).trim().split("\n").at(-1) ?? "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Runs test files under Node; all of them by default.
 * @param print takes each line that is to be shown
 */
export async function runNodeTests(print: (line: string) => void, files = findTests()): Promise<Tally> {
  const node = await findNode();
  if ("reason" in node) {
    print(`skipped: the tests under Node: ${node.reason}`);
    return { passed: 0, failed: 0, skipped: files.length };
  }
  const [command, ...first] = node.command;
  const shim = new URL("_deno_test_for_node.ts", import.meta.url).href;
  const options = ["--test", "--test-reporter=tap", `--test-timeout=${TEST_TIMEOUT_MS}`];
  const child = new Deno.Command(command, {
    args: [...first, "--import", shim, ...options, ...files],
    cwd: fileURLToPath(root),
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const tally = { passed: 0, failed: 0, skipped: 0 };
  let rest = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) takeLine(line, tally, print);
  }
  const { success, code } = await child.status;
  if (!success && tally.failed === 0) {
    print(`FAILED: the tests under Node ended with exit code ${code}`);
    tally.failed = 1;
  }
  print(`Node: ${tally.passed} passed, ${tally.failed} failed`);
  return tally;
}

/** TAP is for machines: passed tests are only counted, and failures are printed. */
function takeLine(line: string, tally: Tally, print: (line: string) => void): void {
  const [, word, count] = /^# (pass|fail|skipped) (\d+)$/.exec(line) ?? [];
  if (word === "pass") tally.passed = Number(count);
  else if (word === "fail") tally.failed = Number(count);
  else if (word === "skipped") tally.skipped = Number(count);
  else if (/^\s*not ok /.test(line)) isFailure = true;
  else if (/^\s*ok |^# Subtest/.test(line)) isFailure = false;
  if (isFailure) print(line);
}

let isFailure = false;

if (import.meta.main) {
  const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  const { failed } = await runNodeTests(print, Deno.args.length > 0 ? Deno.args : undefined);
  Deno.exit(failed > 0 ? 1 : 0);
}
