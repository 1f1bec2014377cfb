import { deepEqual, equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openFolder, startClient } from "./files_kit.ts";

const CLI = fileURLToPath(new URL("../cli.ts", import.meta.url));

const WRONG: [args: string[], code: number, message: RegExp][] = [
  [
    ["-f", "/portway/is/not/here", "--local"],
    1,
    /^portway: cannot share "\/portway\/is\/not\/here": there is no such file or folder \(ENOENT\)\n$/,
  ],
  [["-f", "/dev/null", "--local"], 1, /neither a file nor a folder/],
  [["-f", ".", "-w", "."], 2, /only one of -e, -f, -fw and -w/],
  [["-e", "3000", "-f", "."], 2, /only one of -e, -f, -fw and -w/],
  [["-t", "name", "-f", "."], 1, /this needs a login: portway --login/],
  [["-f", ".", "--spa"], 2, /--spa and --live go with -w/],
  [["-e", "3000", "--local"], 2, /--local goes with/],
  [["-fw", ".", "--max-upload", "5 apples"], 2, /--max-upload: cannot use "5 apples": a size such as 500MB or 2GiB/],
  [["-f", ".", "--max-upload", "5MB"], 2, /--max-upload goes with -fw/],
  [["-e", "3000", "-p", "secret"], 2, /^portway: -p needs -f, -fw or -w/],
  [["-f", ".", "--drop"], 2, /--drop goes with -fw/],
  [["-fw", "deno.json", "--drop", "--local"], 1, /^portway: cannot take files into "deno.json": it is no folder/],
  [["-e", "3000", "--cors"], 2, /--cors goes with -f, -fw or -w/],
  [["-e", "3000", "--header", "a:b"], 2, /--header goes with -f, -fw or -w/],
  [["-f", ".", "--header", "no colon"], 2, /--header: cannot use "no colon": a header such as/],
  [["-f", ".", "--header", "a:1", "--header", "Content-Length:3"], 2, /"Content-Length" is the server's own to set/],
  [["-e", "3000", "--hidden"], 2, /--hidden goes with -f, -fw or -w/],
  [["-f", ".", "--local-host", "127.0.0.1"], 2, /--local-host goes with --local/],
  [["-f", ".", "--local-host", "0.0.0.0"], 2, /--local-host goes with --local/],
  [["-f", ".", "--local", "--resume"], 2, /--resume goes with a tunnel/],
  [["-f", ".", "--local", "0", "-p", ""], 2, /^portway: -p, --passphrase: it is empty/],
  [["-f", ".", "--local=70000"], 2, /--local: cannot use "70000"/],
  [["-f", ".", "--local", "70000"], 2, /--local: cannot use "70000"/],
];

Deno.test("portway tells in one line what is wrong with a share", () => {
  for (const [args, code, message] of WRONG) {
    const { status, stderr, stdout } = spawnSync(process.execPath, ["run", "-A", CLI, ...args], {
      encoding: "utf8",
      timeout: 20_000,
    });
    match(stderr, message);
    deepEqual([status, stdout, stderr.trim().split("\n").length], [code, "", 1], args.join(" "));
  }
});

Deno.test("portway does not take an empty PORTWAY_PASSPHRASE for none", () => {
  using folder = openFolder();
  const args = ["run", "-A", CLI, "-f", folder.path, "--local", "0", "--local-host", "127.0.0.1"];
  const env = { ...process.env, PORTWAY_PASSPHRASE: "" };
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8", timeout: 20_000 });
  match(stderr, /^portway: PORTWAY_PASSPHRASE: it is empty/);
  equal(status, 2);
});

Deno.test("portway minds no passphrase of the environment where no files are shared", () => {
  const args = ["run", "-A", CLI, "-e", "3000", "--spa"];
  const env = { ...process.env, PORTWAY_PASSPHRASE: "" };
  const { stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8", timeout: 20_000 });
  // The first thing that is wrong with this line is another one.
  match(stderr, /^portway: --spa and --live go with -w/);
});

Deno.test("portway takes a dash in PORTWAY_PASSPHRASE for the passphrase, and asks for none", async () => {
  using folder = openFolder();
  const args = ["-f", folder.path, "--local", "0", "--local-host", "127.0.0.1"];
  await using client = await startClient(args, { PORTWAY_PASSPHRASE: "-" });
  const ask = async (passphrase: string) => {
    const answer = await fetch(client.url, { headers: { authorization: `Basic ${btoa(`:${passphrase}`)}` } });
    await answer.body?.cancel();
    return answer.status;
  };
  deepEqual([await ask(""), await ask("-")], [401, 200]);
});

Deno.test("portway takes a passphrase that is piped in, and none that is empty", () => {
  using folder = openFolder();
  const args = ["run", "-A", CLI, "-f", folder.path, "-p", "--local", "0"];
  const { status, stderr } = spawnSync(process.execPath, args, { input: "\n", encoding: "utf8" });
  equal(status, 2);
  match(stderr, /^portway: -p: the passphrase is empty/);
});

Deno.test("portway --help lists flags whose value may be left out in their place, with the value", () => {
  const { stdout } = spawnSync(process.execPath, ["run", "-A", CLI, "--help"], { encoding: "utf8" });
  const flags = [...stdout.matchAll(/^ {2}(-.*?|[A-Z]+)(?: {2}.*)?$/gm)].map(([, flag]) => flag);
  const from = flags.indexOf("-p, --passphrase [PASSPHRASE]");
  deepEqual(flags.slice(from, from + 9), [
    "-p, --passphrase [PASSPHRASE]",
    "--drop",
    "--max-upload SIZE",
    "--hidden",
    "--spa [FILE]",
    "--live",
    "--cors",
    "--header NAME:VALUE",
    "--local [PORT]",
  ]);
});
