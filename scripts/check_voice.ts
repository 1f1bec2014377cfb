/**
 * Checks how plainly the project is written: comments, docstrings, error messages, documents and commit subjects. Prints
 * each folder above a limit with its hardest sentences, and ends with code 1 when there is one.
 *
 * Arguments select files or folders; `--worst N` prints more sentences.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { argv, cwd, exit, stdout } from "node:process";
import { extractLines, extractSentences, type Sentence } from "./_prose.ts";
import { LIMITS, measure, rankSentences, type Rates } from "./_voice_rules.ts";

/** Each is measured alone, so that a good folder cannot hide a bad one. */
const FOLDERS = [
  "client",
  "deploy",
  "docs",
  "protocol",
  "server",
  "web",
  ".",
];
/** Folders that are measured by sub-folder. */
const SPLIT = new Set(["client", "net", "server"]);
/** Fewer words give no meaningful rate: the parent folder measures them too. */
const MIN_WORDS = 300;
/** Commit subjects are checked from here on. */
const FIRST_COMMIT = "a31890b";

/** Folders whose prose is not rewritten yet. Only remove entries. */
const PENDING: ReadonlySet<string> = new Set([
  "client",
  "client/files",
  "docs",
]);

const SKIPPED_FOLDER = /^(?:\.|node_modules$|vendor$|testdata$|dist$)/;
const SKIPPED_FILE = /_test\.|_kit\.|\.min\.js$|\.d\.ts$/;
const PROSE_FILE = /\.(?:tsx?|m?js|md)$/;

/** Returns a line per limit that the sentences break. */
export function findVoiceViolations(name: string, sentences: readonly Sentence[]): string[] {
  if (sentences.length === 0) return [];
  const rates = measure(sentences);
  return (Object.keys(LIMITS) as (keyof Rates)[]).filter((key) => rates[key] > LIMITS[key])
    .map((key) => `${name}: ${key} is ${rates[key].toFixed(1)}, the limit is ${LIMITS[key]}`);
}

/** Prose files below a folder, or the file itself. */
function listFiles(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  const names = readdirSync(path, { withFileTypes: true }).sort((a, b) => a.name < b.name ? -1 : 1);
  return names.flatMap((entry) => {
    const below = path === "." ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) return SKIPPED_FOLDER.test(entry.name) ? [] : listFiles(below);
    return PROSE_FILE.test(entry.name) && !SKIPPED_FILE.test(entry.name) ? [below] : [];
  });
}

function readSentences(files: readonly string[]): Sentence[] {
  return files.flatMap((file) => extractSentences(file, readFileSync(file, "utf8")));
}

/** The folders of the project with their sentences. */
function* readProject(): Generator<[name: string, sentences: Sentence[]]> {
  for (const folder of FOLDERS) {
    if (folder === ".") {
      yield ["the root", readSentences(readdirSync(".").filter((name) => PROSE_FILE.test(name)))];
      continue;
    }
    const sentences = readSentences(listFiles(folder));
    yield [folder, sentences];
    if (SPLIT.has(folder)) yield* splitFolder(sentences);
  }
  const subjects = readSubjects();
  if (countWords(subjects) >= MIN_WORDS) yield ["commit subjects", subjects];
}

function* splitFolder(sentences: readonly Sentence[]): Generator<[string, Sentence[]]> {
  const rooms = Map.groupBy(
    sentences.filter(({ file }) => file.split("/").length > 2),
    ({ file }) => file.split("/").slice(0, 2).join("/"),
  );
  for (const [room, own] of rooms) {
    if (countWords(own) >= MIN_WORDS) yield [room, own];
  }
}

function countWords(sentences: readonly Sentence[]): number {
  return sentences.reduce((sum, { words }) => sum + words, 0);
}

/** Commit subjects since {@link FIRST_COMMIT}; none in a copy without history. */
function readSubjects(): Sentence[] {
  const { status, stdout } = spawnSync("git", ["log", "--no-merges", "--format=%s", `${FIRST_COMMIT}..HEAD`], {
    encoding: "utf8",
  });
  return status === 0 ? extractLines("commit subjects", stdout.split("\n")) : [];
}

function main(args: readonly string[]): number {
  const at = args.indexOf("--worst");
  const worst = at < 0 ? 8 : Number(args[at + 1]);
  const roots = at < 0 ? args : args.filter((_, index) => index !== at && index !== at + 1);
  const parts = roots.length === 0
    ? [...readProject()].filter(([name]) => !PENDING.has(name))
    : roots.map((root) => [root, readSentences(listFiles(root))] as const);
  let isPlain = true;
  for (const [name, sentences] of parts) {
    const violations = findVoiceViolations(name, sentences);
    if (violations.length === 0) continue;
    isPlain = false;
    stdout.write(violations.join("\n") + "\n");
    for (const { sentence: { file, line, text }, terms } of rankSentences(sentences).slice(0, worst)) {
      stdout.write(`  ${file}:${line}: ${text}${terms.length > 0 ? ` (instead: ${terms.join("; ")})` : ""}\n`);
    }
  }
  return isPlain ? 0 : 1;
}

if (import.meta.main) {
  if (!statSync("deno.json", { throwIfNoEntry: false })) {
    throw new Error(`cannot check "${cwd()}": not the project's root`);
  }
  exit(main(argv.slice(2)));
}
