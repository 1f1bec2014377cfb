import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Build } from "../../common/release.ts";
import { findTarget, type Target } from "../../client/upgrade/mod.ts";
import { ASSET_PACKAGES, makePackage } from "../build_npm.ts";
import { listV8Flags } from "../v8_flags.ts";
import { CompileFailed } from "./compile_failed.ts";
import { addRuntimeLicence } from "./licences.ts";
import { fetchRuntime, NODE_VERSION } from "./node_runtimes.ts";
import { runTool } from "./run_tool.ts";
import { signMachO } from "./sign_macho.ts";
import { MAIN, splitBundle } from "./split_bundle.ts";
import { stripElf } from "./strip_elf.ts";

/** The program as Node's single executables embed it. */
export interface NodeProgram {
  readonly folder: string;
  /** File paths in the executable's virtual file system, from the folder. */
  readonly files: readonly string[];
  /** The Node that writes executables. */
  readonly builder: string;
}

/**
 * Bundles the program in its own folder and downloads the Node that writes executables.
 * @throws CompileFailed
 */
export function prepareNodeProgram(work: string, build: Build): NodeProgram {
  const host = findTarget(process.platform, process.arch);
  if (host === null) throw new CompileFailed(`no Node runtime for ${process.platform} ${process.arch} is known`);
  const { file, licence } = fetchRuntime(host, work);
  const { folder } = makePackage(work, build);
  if (licence !== null) addRuntimeLicence(folder, `Node.js ${NODE_VERSION}`, licence);
  return { folder, files: splitBundle(folder, ASSET_PACKAGES), builder: file };
}

/**
 * Writes the executable for a target, whose bytes depend on the program and the pinned runtime alone.
 * @throws CompileFailed
 */
export function compileForNode(program: NodeProgram, target: Target, work: string, file: string): void {
  const { folder, files, builder } = program, runtime = join(work, `runtime-${target}`);
  const original = readFileSync(fetchRuntime(target, work).file);
  writeFileSync(runtime, target.includes("linux") ? stripElf(original) : original, { mode: 0o755 });
  const config = join(work, `${target}.json`);
  writeFileSync(
    config,
    JSON.stringify({
      main: join(folder, MAIN),
      mainFormat: "module",
      executable: runtime,
      output: file,
      disableExperimentalSEAWarning: true,
      useVfs: true,
      assets: Object.fromEntries(files.map((path) => [path, join(folder, path)])),
      execArgv: listV8Flags(),
      // No variable such as NODE_OPTIONS adds arguments.
      execArgvExtension: "none",
    }),
  );
  runTool(builder, ["--build-sea", config], work);
  if (target.includes("darwin")) writeFileSync(file, signMachO(readFileSync(file), "portway"));
  chmodSync(file, 0o755);
}
