/**
 * All that CI runs: packages as the lock file has them, format, lint, types, imports and exports, then every test.
 * `--checks` leaves the tests out; other arguments go to `deno test` (paths, `--filter`). What failed is told again at the
 * end, where a log that keeps only its end has it. The last line is `N passed, N failed`, checks and tests together, with
 * `, N skipped` behind it when some were; the exit code is 1 when anything failed.
 */
import { findFailures, parseTestSummary, type Tally } from "./_test_summary.ts";
import { runNodeTests } from "./node_tests.ts";

const CHECKS: readonly (readonly string[])[] = [
  // All that the lock file names, now: later every child process would fetch some, and say so amid its own output.
  ["install", "--frozen"],
  ["fmt", "--check"],
  ["lint"],
  ["check", "."],
  ["run", "-A", "scripts/check_imports.ts"],
  ["run", "-A", "scripts/check_exports.ts"],
  ["run", "-A", "scripts/check_voice.ts"],
  ["run", "-A", "scripts/check_links.ts"],
];

/** Types were checked before. */
const TESTS = ["test", "-A", "--no-check", "--permit-no-files"];
/** Much of a test is waiting, for a server or for a second: so many files are tested at a time. */
const AT_A_TIME = 3;

const root = new URL("..", import.meta.url);
/** What is told again at the end. */
const failures: string[] = [];

/** The same Deno that runs this, in the project's root, its errors and warnings straight to ours. */
function startDeno(args: readonly string[], output: "inherit" | "piped"): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: root,
    env: { DENO_JOBS: String(AT_A_TIME) },
    stdin: "null",
    stdout: output,
    stderr: "inherit",
  })
    .spawn();
}

async function runCheck(args: readonly string[]): Promise<Tally> {
  const { success } = await startDeno(args, "inherit").status;
  const tell = success ? print : tellFailure;
  tell(`${success ? "passed" : "FAILED"}: deno ${args.join(" ")}`);
  return { passed: success ? 1 : 0, failed: success ? 0 : 1, skipped: 0 };
}

/** Those that were asked for, else all: browsers one at a time, as one alone keeps several processors busy. */
async function runTests(args: readonly string[]): Promise<Tally[]> {
  if (args.length > 0) return [await runDenoTests(args)];
  const browsers = Array.from(Deno.readDirSync(new URL("tests/", root)), ({ name }) => `tests/${name}`)
    .filter((file) => file.endsWith("_browser_test.ts")).sort();
  const others = await runDenoTests(["--parallel", `--ignore=${browsers.join(",")}`]);
  return [others, await runDenoTests(browsers)];
}

async function runDenoTests(args: readonly string[]): Promise<Tally> {
  const child = startDeno([...TESTS, ...args], "piped");
  let output = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    write(text);
    output += text;
  }
  const { success, code } = await child.status;
  const told = findFailures(output);
  if (told !== "") failures.push(told);
  return parseTestSummary(output, success, (reason) => tellFailure(`FAILED: ${reason} (exit code ${code})`));
}

/** All of them, unless some tests were asked for. */
async function runUnderNode(args: readonly string[]): Promise<Tally[]> {
  return args.length > 0 ? [] : [await runNodeTests(print)];
}

/** Now and at the end. */
function tellFailure(line: string): void {
  print(line);
  failures.push(line);
}

function print(line: string): void {
  write(`${line}\n`);
}

/** Synchronous, so that nothing is lost by the exit and the last line is the last. */
function write(text: string): void {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(Deno.stdout.writeSync(rest));
}

async function main(): Promise<number> {
  const args = Deno.args.filter((arg) => arg !== "--checks");
  const tallies: Tally[] = [];
  for (const check of CHECKS) tallies.push(await runCheck(check));
  if (!Deno.args.includes("--checks")) tallies.push(...await runTests(args), ...await runUnderNode(args));
  const sum = (key: keyof Tally) => tallies.reduce((total, tally) => total + tally[key], 0);
  const skipped = sum("skipped");
  if (failures.length > 0) print(`\nWhat failed, again:\n\n${failures.join("\n\n")}\n`);
  print(`${sum("passed")} passed, ${sum("failed")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  return sum("failed") > 0 ? 1 : 0;
}

// Its name looks like a test's: deno.json keeps `deno test` away from it, and this keeps it from starting itself.
if (import.meta.main) Deno.exit(await main());
