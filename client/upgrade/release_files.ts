import type { ReleaseForm } from "../../common/release.ts";

/** The systems for which a release has executables, by Node's names for platform and processor. */
const SYSTEMS = {
  "darwin x64": "x86_64-apple-darwin",
  "darwin arm64": "aarch64-apple-darwin",
  "linux x64": "x86_64-unknown-linux-gnu",
  "linux arm64": "aarch64-unknown-linux-gnu",
  "win32 x64": "x86_64-pc-windows-msvc",
} as const;

/** A system for which a release has an executable, as `deno compile` names it. */
export type Target = typeof SYSTEMS[keyof typeof SYSTEMS];

/** All targets, in one order. */
export const TARGETS: readonly Target[] = Object.values(SYSTEMS);

/** The runtime inside an executable. */
export type Runtime = Extract<ReleaseForm, "deno" | "node">;

/** Returns a system's target, or null if no release supports it. */
export function findTarget(platform: string, arch: string): Target | null {
  return Object.entries(SYSTEMS).find(([system]) => system === `${platform} ${arch}`)?.[1] ?? null;
}

/** Returns an executable's file name, which is the same on every release server. */
export function nameExecutable(target: Target, runtime: Runtime, version: string): string {
  const suffix = runtime === "node" ? "-node" : "";
  return `portway-${version}-${target}${suffix}${target.includes("windows") ? ".exe" : ""}`;
}

/** The file with SHA-256 checksums for all files in a release, as `sha256sum` writes it. */
export const CHECKSUMS = "SHA256SUMS";
