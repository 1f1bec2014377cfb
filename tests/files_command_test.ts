import { deepEqual, equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openFolder } from "./files_kit.ts";

const CLI = fileURLToPath(new URL("../cli.ts", import.meta.url));

const WRONG: [args: string[], code: number, message: RegExp][] = [
  [["-f", "/portway/is/not/here", "--local"], 1, /^portway: cannot share "\/portway\/is\/not\/here": ENOENT/],
  [["-f", "/dev/null", "--local"], 1, /neither a file nor a folder/],
  [["-f", ".", "-w", "."], 2, /only one of -e, -f, -fw and -w/],
  [["-e", "3000", "-f", "."], 2, /only one of -e, -f, -fw and -w/],
  [["-t", "name", "-f", "."], 2, /-t needs a login/],
  [["-f", ".", "--spa"], 2, /--spa and --live go with -w/],
  [["-e", "3000", "--local"], 2, /--local goes with/],
  [["-fw", ".", "--max-upload", "5 apples"], 2, /--max-upload: cannot use "5 apples": a size such as 500MB or 2GiB/],
  [["-f", ".", "--local", "70000"], 2, /--local: cannot use "70000"/],
];

Deno.test("portway tells in one line what is wrong with a share", () => {
  for (const [args, code, message] of WRONG) {
    const { status, stderr, stdout } = spawnSync(process.execPath, ["run", "-A", CLI, ...args], { encoding: "utf8" });
    match(stderr, message);
    deepEqual([status, stdout, stderr.trim().split("\n").length], [code, "", 1], args.join(" "));
  }
});

Deno.test("portway takes a passphrase that is piped in, and none that is empty", () => {
  using folder = openFolder();
  const args = ["run", "-A", CLI, "-f", folder.path, "-p", "--local", "0"];
  const { status, stderr } = spawnSync(process.execPath, args, { input: "\n", encoding: "utf8" });
  equal(status, 2);
  match(stderr, /^portway: -p: the passphrase is empty/);
});
