/**
 * Runs all CI checks: locked packages, format, lint, types, imports, exports, voice and links, then every test.
 * `--checks` skips the tests; other arguments go to `deno test` (paths, `--filter`). Failures are repeated at the end,
 * where a truncated log still has them. The last line is `N passed, N failed` for checks and tests together, with `, N
 * skipped` if any; the exit code is 1 after a failure.
 */
import { findFailures, parseTestSummary, type Tally } from "./_test_summary.ts";
import { runNodeTests } from "./node_tests.ts";

const CHECKS: readonly (readonly string[])[] = [
  // Installs all locked packages now, because child processes would otherwise fetch them and print that in their
  // output.
  ["install", "--frozen"],
  ["fmt", "--check"],
  ["lint"],
  ["check", "."],
  ["run", "-A", "scripts/check_imports.ts"],
  ["run", "-A", "scripts/check_exports.ts"],
  ["run", "-A", "scripts/check_voice.ts"],
  ["run", "-A", "scripts/check_links.ts"],
];

/** The checks already include types. */
const TESTS = ["test", "-A", "--no-check", "--permit-no-files"];
/** Tests mostly wait, so several files run at once. */
const AT_A_TIME = 3;

const root = new URL("..", import.meta.url);
/** Failures to repeat at the end. */
const failures: string[] = [];

/** Starts the same Deno in the project's root, with errors and warnings on our standard error. */
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
  const tell = success ? print : reportFailure;
  tell(`${success ? "passed" : "FAILED"}: deno ${args.join(" ")}`);
  return { passed: success ? 1 : 0, failed: success ? 0 : 1, skipped: 0 };
}

/** Runs the given tests, or all. Browser tests run one at a time, because one browser already uses several cores. */
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
  const found = findFailures(output);
  if (found !== "") failures.push(found);
  return parseTestSummary(output, success, (reason) => reportFailure(`FAILED: ${reason} (exit code ${code})`));
}

/** Runs all, unless the arguments select tests. */
async function runUnderNode(args: readonly string[]): Promise<Tally[]> {
  return args.length > 0 ? [] : [await runNodeTests(print)];
}

/** Prints a failure now and at the end. */
function reportFailure(line: string): void {
  print(line);
  failures.push(line);
}

function print(line: string): void {
  write(`${line}\n`);
}

/** Writes synchronously, so that the exit loses no output and the last line stays last. */
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

// The name looks like a test's: deno.json keeps `deno test` away from it, and this check keeps it from starting itself.
if (import.meta.main) Deno.exit(await main());
