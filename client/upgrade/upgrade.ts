import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { explainError } from "../../common/explain_error.ts";
import { boolean, type OptionTable, type OptionValues } from "../../common/options.ts";
import type { Build } from "../../common/release.ts";
import { downloadBytes, downloadFile, type Downloads } from "./download.ts";
import type { Installation } from "./installation.ts";
import { BadSignature, verifyMinisign } from "./minisign.ts";
import {
  CHECKSUMS,
  findReleaseFile,
  findTarget,
  isNewer,
  type ReleaseFile,
  type Runtime,
  SIGNATURE,
} from "./release_files.ts";
import { prepareFresh, replaceFile } from "./replace_file.ts";
import { UpgradeFailed } from "./upgrade_failed.ts";

/** Options of `portway upgrade`. */
export const upgradeOptions = {
  check: {
    flag: "--check",
    parse: boolean,
    fallback: "false",
    help: "show the newest release, and change no file",
  },
} satisfies OptionTable;

const MAX_CHECKSUMS = 64 * 1024;
/** Executables have 120 to 160 MB. */
const MAX_EXECUTABLE = 512 * 1024 * 1024;
/** A new program that takes longer for `--version` hangs. */
const TRIAL_MS = 60_000;

/** The running program, and the ways in which an upgrade acts. */
export interface UpgradeContext extends Downloads {
  readonly build: Build;
  /** The version that users see. */
  readonly version: string;
  readonly installation: Installation;
  readonly platform: string;
  readonly arch: string;
  /** Prints a line. */
  print(line: string): void | Promise<void>;
}

/**
 * Replaces the running executable with the newest release, after the signature and the checksum of the new one are
 * verified and it has run.
 * @returns the exit code
 * @throws UpgradeFailed; the executable is then the old one, and no other file remains
 */
export async function upgrade(context: UpgradeContext, options: OptionValues<typeof upgradeOptions>): Promise<number> {
  const { build, installation, version, print } = context;
  if (installation.kind === "managed") {
    const { by, command } = installation;
    throw new UpgradeFailed(`cannot replace this program, because it comes from ${by}; upgrade it with: ${command}`);
  }
  if (build.releases === null || build.key === null) {
    throw new UpgradeFailed("cannot upgrade: this build names no server with releases");
  }
  const base = new URL(`${build.releases.replace(/\/$/, "")}/latest/download/`);
  const newest = await findNewest(context, base, build.key, installation.runtime);
  if (!isNewer(newest.version, version)) {
    await print(`portway ${version} is the newest release`);
    return 0;
  }
  await print(`portway ${version} runs here; the newest release is ${newest.version}`);
  if (options.check) return 0;
  await replace(context, base, newest, installation.file);
  return 0;
}

/** Downloads the checksums, verifies their signature, and returns the executable for this system. */
async function findNewest(context: UpgradeContext, base: URL, key: string, runtime: Runtime): Promise<ReleaseFile> {
  const { platform, arch } = context, target = findTarget(platform, arch);
  if (target === null) throw new UpgradeFailed(`cannot upgrade: no release is for ${platform} ${arch}`);
  const checksums = await downloadBytes(context, new URL(CHECKSUMS, base), MAX_CHECKSUMS);
  const signature = await downloadBytes(context, new URL(SIGNATURE, base), MAX_CHECKSUMS);
  const decoder = new TextDecoder();
  try {
    verifyMinisign(checksums, decoder.decode(signature), key);
  } catch (error) {
    if (!(error instanceof BadSignature)) throw error;
    throw new UpgradeFailed(`cannot trust ${new URL(CHECKSUMS, base)}: ${error.message}`, { cause: error });
  }
  const found = findReleaseFile(decoder.decode(checksums), target, runtime);
  if (found === null) throw new UpgradeFailed(`cannot upgrade: the newest release has no executable for ${target}`);
  return found;
}

async function replace(context: UpgradeContext, base: URL, newest: ReleaseFile, file: string): Promise<void> {
  const { print, version, signal } = context, { name } = newest;
  const fresh = inFolder(file, () => prepareFresh(file));
  try {
    await print(`Downloading ${new URL(name, base)}`);
    const sha256 = await inFolder(file, () => downloadFile(context, new URL(name, base), fresh, MAX_EXECUTABLE));
    if (sha256 !== newest.sha256) {
      throw new UpgradeFailed(`cannot trust ${name}: its SHA-256 is ${sha256}, and the release has ${newest.sha256}`);
    }
    tryProgram(fresh, newest);
    if (signal.aborted) throw new UpgradeFailed("the upgrade was interrupted, and changed no file");
    const old = inFolder(file, () => replaceFile(file, fresh));
    await print(
      `${file} is now ${newest.version}, with a verified signature and checksum; ${version} remains as ${old}`,
    );
  } finally {
    rmSync(fresh, { force: true });
  }
}

/** The new program must run here before it replaces the old one. */
function tryProgram(fresh: string, { name, version }: ReleaseFile): void {
  const { stdout, error } = spawnSync(fresh, ["--version"], { encoding: "utf8", timeout: TRIAL_MS });
  if (error !== undefined) throw new UpgradeFailed(`cannot run ${name} here: ${explainError(error)}`, { cause: error });
  if (stdout.trim() !== version) throw new UpgradeFailed(`cannot run ${name} here: it does not print its version`);
}

/** Names the folder when the system refuses a file in it, to a call or to its promise. */
function inFolder<T>(file: string, work: () => T): T {
  const explain = (error: unknown): never => {
    if (!(error instanceof Error && "code" in error) || error instanceof UpgradeFailed) throw error;
    throw new UpgradeFailed(`cannot write to ${dirname(file)}: ${explainError(error)}`, { cause: error });
  };
  try {
    const result = work();
    return result instanceof Promise ? result.catch(explain) as T : result;
  } catch (error) {
    return explain(error);
  }
}
