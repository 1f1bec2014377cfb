import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Hexadecimal digits in a version's commit. */
const COMMIT_DIGITS = 7;

/**
 * Returns the version for the source in a folder: from deno.json, with `-dev` and the commit if git knows one.
 * @param folder the project's folder; default this module's parent folder
 */
export function readSourceVersion(folder?: string): string {
  const root = folder ?? findRoot();
  const manifest = root === null ? null : readText(join(root, "deno.json"));
  if (root === null || manifest === null) return "0.0.0-dev";
  const { version }: { version?: unknown } = JSON.parse(manifest);
  const commit = readCommit(root);
  return `${version}-dev${commit === null ? "" : `.g${commit.slice(0, COMMIT_DIGITS)}`}`;
}

/** Returns null for a module that is loaded from another machine, which has no folder. */
function findRoot(): string | null {
  return import.meta.url.startsWith("file:") ? dirname(dirname(fileURLToPath(import.meta.url))) : null;
}

/** Reads the checked-out commit without running git: each start of the program from source does this. */
function readCommit(root: string): string | null {
  const git = join(root, ".git");
  // In a second worktree `.git` is a file that names the folder.
  const [, linked] = /^gitdir: (.*)$/m.exec(readText(git) ?? "") ?? [];
  const folder = linked === undefined ? git : resolve(root, linked);
  const head = readText(join(folder, "HEAD"))?.trim() ?? "";
  const [, branch] = /^ref: (refs\/\S+)$/.exec(head) ?? [];
  const commit = branch === undefined ? head : readBranch(folder, branch);
  return commit !== null && /^[0-9a-f]{40,64}$/.test(commit) ? commit : null;
}

function readBranch(folder: string, branch: string): string | null {
  const common = readText(join(folder, "commondir"));
  const shared = common === null ? folder : resolve(folder, common.trim());
  const loose = readText(join(shared, branch));
  if (loose !== null) return loose.trim();
  const packed = readText(join(shared, "packed-refs")) ?? "";
  return packed.split("\n").find((line) => line.endsWith(` ${branch}`))?.split(" ")[0] ?? null;
}

/** Returns null for a missing file, a folder, and a file that may not be read. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
}
