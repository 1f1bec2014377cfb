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
/** The file with the checksums' minisign signature. */
export const SIGNATURE = `${CHECKSUMS}.minisig`;

/** An executable in a release. */
export interface ReleaseFile {
  readonly name: string;
  readonly version: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/**
 * Returns a target's executable from a release's checksums, or null if the release has none.
 * @throws Error for text in another format
 */
export function findReleaseFile(checksums: string, target: Target, runtime: Runtime): ReleaseFile | null {
  for (const line of checksums.split(/\r?\n/).filter((text) => text !== "")) {
    const [, sha256, name] = /^([0-9a-f]{64}) [ *](\S+)$/.exec(line) ?? [];
    if (sha256 === undefined) throw new Error(`${CHECKSUMS} has the line "${line.slice(0, 80)}"`);
    const [, version] = /^portway-(\d+\.\d+\.\d+(?:-[\w.]+?)?)-(?:x86_64|aarch64)-/.exec(name) ?? [];
    if (version !== undefined && name === nameExecutable(target, runtime, version)) return { name, version, sha256 };
  }
  return null;
}

/** Returns whether one release is newer than another, by Semantic Versioning precedence. */
export function isNewer(version: string, than: string): boolean {
  const [a, b] = [version, than].map(parseVersion);
  for (const [at, number] of a.numbers.entries()) {
    if (number !== b.numbers[at]) return number > b.numbers[at];
  }
  return comparePrereleases(a.prerelease, b.prerelease) > 0;
}

function parseVersion(version: string): { numbers: number[]; prerelease: string[] } {
  const [, release, prerelease] = /^([\d.]+)(?:-(.*))?$/.exec(version) ?? [];
  return { numbers: (release ?? "0.0.0").split(".").map(Number), prerelease: prerelease?.split(".") ?? [] };
}

/** A release goes before its pre-releases; numbers compare as numbers and go below words. */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (const [at, part] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    if (part === other) continue;
    const areNumbers = [part, other].map((text) => /^\d+$/.test(text));
    if (areNumbers[0] && areNumbers[1]) return Number(part) - Number(other);
    if (areNumbers[0] !== areNumbers[1]) return areNumbers[0] ? -1 : 1;
    return part < other ? -1 : 1;
  }
  return a.length - b.length;
}
