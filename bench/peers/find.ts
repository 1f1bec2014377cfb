import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { ROOT } from "../programs/helpers.ts";
import { runProgram } from "../programs/process.ts";

/** Install folder for package clients; git ignores it. */
const CACHE = join(ROOT, "bench", ".cache");

/** A peer's program, or the reason for its absence. */
export type Found = { path: string } | { missing: string };

export interface FindOptions {
  /** Installs missing programs with a package client, which can take minutes. */
  install: boolean;
}

/** Folders for peers: `PORTWAY_PEERS`, the cache, then PATH. */
export function peerPath(): string {
  const folders = [process.env.PORTWAY_PEERS, join(CACHE, "cargo", "bin"), process.env.PATH, "/usr/sbin"];
  return folders.filter((folder) => folder !== undefined && folder !== "").join(delimiter);
}

/** Looks for a program along {@link peerPath}. */
export function findProgram(name: string): string | null {
  return peerPath().split(delimiter).map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

/** {@link findProgram}, with an installation by cargo if wanted and possible. */
export async function findCrate(name: string, crate: string, { install }: FindOptions): Promise<Found> {
  const there = findProgram(name);
  if (there !== null) return { path: there };
  if (!install) return { missing: `${name} is not on PATH or in PORTWAY_PEERS; --install gets it with cargo` };
  const cargo = findProgram("cargo");
  if (cargo === null) return { missing: `${name} is not here, and no cargo to install the crate ${crate} with` };
  const done = await runProgram("nice", ["-n", "19", cargo, "install", crate, "--root", join(CACHE, "cargo")]);
  const path = findProgram(name);
  return path === null || done === null ? { missing: `cargo could not install the crate ${crate}` } : { path };
}

/** {@link findProgram} for programs without a package client. */
export function findBinary(name: string): Found {
  const path = findProgram(name);
  return path === null ? { missing: `${name} is not on PATH or in PORTWAY_PEERS` } : { path };
}

/** Returns the line with a program's version. */
export async function readVersion(path: string, flag = "--version"): Promise<string> {
  const text = await runProgram("sh", ["-c", '"$0" "$1" 2>&1', path, flag]);
  return text?.trim().split("\n").at(-1) ?? "unknown";
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
