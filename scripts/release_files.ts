/**
 * `deno task release:files`: writes the texts by which other tools install a release, beside its executables in
 * `dist/`: a Homebrew formula, a Scoop manifest and the installer for a shell. `--version`, `--releases` and `--key` are
 * as for `deno task compile`; `--out <folder>` is another folder than `dist/`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { nameExecutable, type Target } from "../client/upgrade/mod.ts";
import { writeChecksums } from "./package/checksums.ts";
import { ROOT } from "./package/product_files.ts";
import { BadFlag, readBuild, readFlag, runScript } from "./package/release.ts";

/** A release whose executables are in a folder. */
export interface Release {
  readonly version: string;
  /** The URL of the releases, without a slash at its end. */
  readonly releases: string;
  /** The public key that signs the checksums. */
  readonly key: string;
  /** SHA-256 in hexadecimal, by file name. */
  readonly sums: ReadonlyMap<string, string>;
}

const DESCRIPTION = "Public URL for what runs on your machine, from a relay that you host yourself";

/** Returns the formula for Homebrew on macOS and Linux. @throws Error if an executable is missing */
export function renderFormula(release: Release): string {
  const systems = [
    ["macos", "arm", "aarch64-apple-darwin"],
    ["macos", "intel", "x86_64-apple-darwin"],
    ["linux", "arm", "aarch64-unknown-linux-gnu"],
    ["linux", "intel", "x86_64-unknown-linux-gnu"],
  ] as const;
  const blocks = systems.map(([system, processor, target]) => {
    const { url, sha256 } = findDownload(release, target);
    return `  on_${system} do
    on_${processor} do
      url "${url}"
      sha256 "${sha256}"
    end
  end
`;
  });
  return `class Portway < Formula
  desc "${DESCRIPTION}"
  homepage "${release.releases.replace(/\/releases$/, "")}"
  version "${release.version}"
  license "MIT"

${blocks.join("\n")}
  def install
    bin.install Dir["portway-*"].first => "portway"
    generate_completions_from_executable(bin/"portway", "completion")
    (man1/"portway.1").write Utils.safe_popen_read(bin/"portway", "man")
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/portway --version").strip
  end
end
`;
}

/** Returns the manifest for Scoop on Windows. @throws Error if the executable is missing */
export function renderScoopManifest(release: Release): string {
  const target = "x86_64-pc-windows-msvc", { url, sha256 } = findDownload(release, target);
  const homepage = release.releases.replace(/\/releases$/, "");
  // Scoop renames a file to the part of the URL behind the number sign.
  const next = `${release.releases}/download/v$version/${nameExecutable(target, "deno", "$version")}#/portway.exe`;
  const manifest = {
    version: release.version,
    description: DESCRIPTION,
    homepage,
    license: "MIT",
    architecture: { "64bit": { url: `${url}#/portway.exe`, hash: sha256 } },
    bin: "portway.exe",
    checkver: { github: homepage },
    autoupdate: { architecture: { "64bit": { url: next } } },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Returns the installer with the address and the public key of the releases. */
export function renderInstaller({ releases, key }: Pick<Release, "releases" | "key">): string {
  const text = readFileSync(join(ROOT, "deploy", "install.sh"), "utf8");
  return text.replace("@RELEASES@", releases).replace("@KEY@", key).replace(
    "curl -fsSL RELEASES",
    `curl -fsSL ${releases}`,
  );
}

function findDownload({ version, releases, sums }: Release, target: Target): { url: string; sha256: string } {
  const name = nameExecutable(target, "deno", version), sha256 = sums.get(name);
  if (sha256 === undefined) throw new BadFlag(`the release has no ${name}`);
  return { url: `${releases}/download/v${version}/${name}`, sha256 };
}

function main(): number {
  const { version, releases, key } = readBuild("deno"), out = readFlag("--out") ?? join(ROOT, "dist");
  if (version === null || releases === null || key === null) throw new BadFlag("--releases and --key: missing");
  const release = { version, releases: releases.replace(/\/$/, ""), key, sums: writeChecksums(out, version) };
  writeFileSync(join(out, "portway.rb"), renderFormula(release));
  writeFileSync(join(out, "portway.json"), renderScoopManifest(release));
  writeFileSync(join(out, "install.sh"), renderInstaller(release), { mode: 0o755 });
  return 0;
}

if (import.meta.main) process.exit(await runScript(main));
