import { deepEqual, equal, throws } from "node:assert/strict";
import { findInstallation } from "./installation.ts";
import { verifyMinisign } from "./minisign.ts";
import { findReleaseFile, isNewer, nameExecutable, TARGETS } from "./release_files.ts";

Deno.test("nameExecutable names each executable by release, system and runtime, and findReleaseFile finds it", () => {
  const names = TARGETS.flatMap((
    target,
  ) => [nameExecutable(target, "deno", "1.2.3"), nameExecutable(target, "node", "1.2.3")]);
  deepEqual(names, [
    "portway-1.2.3-x86_64-apple-darwin",
    "portway-1.2.3-x86_64-apple-darwin-node",
    "portway-1.2.3-aarch64-apple-darwin",
    "portway-1.2.3-aarch64-apple-darwin-node",
    "portway-1.2.3-x86_64-unknown-linux-gnu",
    "portway-1.2.3-x86_64-unknown-linux-gnu-node",
    "portway-1.2.3-aarch64-unknown-linux-gnu",
    "portway-1.2.3-aarch64-unknown-linux-gnu-node",
    "portway-1.2.3-x86_64-pc-windows-msvc.exe",
    "portway-1.2.3-x86_64-pc-windows-msvc-node.exe",
  ]);
  const sums = [...names, "portway-1.2.3.tgz"].map((name) => `${"ab".repeat(32)}  ${name}\n`).join("");
  for (const target of TARGETS) {
    for (const runtime of ["deno", "node"] as const) {
      const name = nameExecutable(target, runtime, "1.2.3");
      deepEqual(findReleaseFile(sums, target, runtime), { name, version: "1.2.3", sha256: "ab".repeat(32) });
    }
  }
  equal(findReleaseFile("", TARGETS[0], "deno"), null);
  throws(() => findReleaseFile("<html>", TARGETS[0], "deno"), /SHA256SUMS has the line "<html>"/);
});

Deno.test("isNewer orders releases by Semantic Versioning", () => {
  const order = [
    "0.9.9",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0",
    "1.2.0",
    "1.10.0",
  ];
  order.forEach((version, at) => {
    order.forEach((other, below) => equal(isNewer(version, other), at > below, `${version} ${other}`));
  });
});

Deno.test("findInstallation names the command of the tool that installed the program", () => {
  const facts = { form: "node", execPath: "/usr/local/bin/portway", modulePath: "/x/cli.js", image: "" } as const;
  deepEqual(findInstallation(facts), { kind: "executable", file: "/usr/local/bin/portway", runtime: "node" });
  const others = [
    [{ form: "source" }, "git pull"],
    [{ form: "npm", modulePath: "/usr/lib/node_modules/portway/client/x.js" }, "npm install --global portway@latest"],
    [
      { form: "npm", modulePath: "C:\\Users\\a\\AppData\\Roaming\\npm\\node_modules\\portway\\x.js" },
      "npm install --global portway@latest",
    ],
    [{ form: "npm", modulePath: "/root/.npm/_npx/1/node_modules/portway/x.js" }, "npx portway@latest"],
    [{ form: "npm", modulePath: "/app/node_modules/portway/x.js" }, "npm install portway@latest"],
    [{ execPath: "/opt/homebrew/Cellar/portway/1.2.3/bin/portway" }, "brew upgrade portway"],
    [{ execPath: "C:\\Users\\a\\scoop\\apps\\portway\\1.2.3\\portway.exe" }, "scoop update portway"],
    [{ form: "npm", image: "ghcr.io/a/portway:latest" }, "docker pull ghcr.io/a/portway:latest"],
  ] as const;
  for (const [change, command] of others) {
    const found = findInstallation({ ...facts, ...change });
    equal(found.kind === "managed" && found.command, command);
  }
});

/** Made by minisign 0.10. */
const KEY = "RWSg+l5cdETDZPE1cIrm1wzFh9oA7LfGRmySW17ECEpkTLui7LJrE76y";
const SIGNATURE = `untrusted comment: signature from minisign secret key
RUSg+l5cdETDZGRJONEWnNv+unsm8CfmfovS6uXvCVUVtTsB0LhqFu4adGqS2D3ideQE6pUOuWoyvbPX2IcEKg7jHWSn4PRcJQI=
trusted comment: portway 1.2.3
tIhZwB3tZNkUmSKOH1+hIJm8zf/ulSRF/alelqikFRIu44YPocq614vNtdwIcIrsUxuyt9TkS2L/VTvTmh59CQ==
`;

Deno.test("verifyMinisign accepts a signature of the minisign program, and no changed byte", () => {
  const file = new TextEncoder().encode("hello\n");
  equal(verifyMinisign(file, SIGNATURE, KEY), "portway 1.2.3");
  throws(() => verifyMinisign(new TextEncoder().encode("hallo\n"), SIGNATURE, KEY), /for another file/);
  throws(() => verifyMinisign(file, SIGNATURE.replace("1.2.3", "1.2.4"), KEY), /trusted comment was changed/);
  throws(() => verifyMinisign(file, SIGNATURE.replace("RUSg", "RUSh"), KEY), /another key/);
  throws(() => verifyMinisign(file, "", KEY), /damaged/);
});
