import { equal, ok } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { openFolder, type RunningClient, sendRaw, startLocal, startTunnel } from "./files_kit.ts";

const SECRET = "the secret of outside";

/** A shared folder with links of every kind, and beside it what nobody may reach. */
function plant(base: string): string {
  const shared = path.join(base, "shared");
  const outside = path.join(base, "outside");
  fs.mkdirSync(path.join(shared, "sub"), { recursive: true });
  fs.mkdirSync(outside);
  fs.mkdirSync(`${shared}-sibling`);
  fs.writeFileSync(path.join(outside, "secret.txt"), SECRET);
  fs.writeFileSync(path.join(base, "secret.txt"), SECRET);
  fs.writeFileSync(path.join(`${shared}-sibling`, "secret.txt"), SECRET);
  fs.writeFileSync(path.join(shared, "inside.txt"), "inside");
  fs.writeFileSync(path.join(shared, "index.html"), "home");
  fs.writeFileSync(path.join(shared, ".env"), SECRET);
  fs.symlinkSync("../outside", path.join(shared, "out"));
  fs.symlinkSync("../outside/secret.txt", path.join(shared, "out.txt"));
  fs.symlinkSync("out.txt", path.join(shared, "chain.txt"));
  return shared;
}

const UP = [
  "..",
  "%2e%2e",
  "%2E%2e",
  ".%2e",
  "%2e.",
  "..%2f",
  "..%2F..",
  "..%5c",
  "..%5C..",
  "..\\",
  "%252e%252e",
  "..%00",
  "..%00/",
  "%c0%ae%c0%ae",
  "%c0%2e",
  "%e0%80%ae%e0%80%ae",
  "%uff0e%uff0e",
  "..;",
  "...",
  "....",
  "%2e%2e%2f",
  "..%c0%af",
  "..%252f",
  "%00",
  "sub/..%2f..",
  "./..",
  "%2e/%2e%2e",
  "out",
  "out%2f",
  "OUT/..",
];
const NAMES = ["secret.txt", "outside/secret.txt", "shared-sibling/secret.txt"];
const ODD = [
  "/out.txt",
  "/chain.txt",
  "/out/secret.txt",
  "/.env",
  "//etc/passwd",
  "///etc/passwd",
  "/etc/passwd",
  "/C:/secret.txt",
  "/c:%5csecret.txt",
  "/inside.txt::$DATA",
  "/inside.txt%00.png",
  "/%2fetc%2fpasswd",
  "/./.env",
  "/sub/./../.env",
  "/%2eenv",
  "/.portway/../../secret.txt",
  "/.portway/x/page.html",
  "/.portway/%2e%2e%2f%2e%2e/secret.txt",
  "/file:///etc/passwd",
  "/%",
  "/%zz",
  "/%ff%fe",
  "/sub%2f..%2f.env",
  "/sub//../.env",
  "/proc/self/environ",
  "/dev/stdin",
];
const TARGETS = [
  ...UP.flatMap((up) => NAMES.flatMap((name) => [`/${up}/${name}`, `/sub/${up}/${up}/${name}`])),
  ...ODD,
];

/** Requests for a target on every route of a share. */
function* routes(target: string, host: string): Generator<string> {
  const heads = [
    `GET ${target}`,
    `HEAD ${target}`,
    `GET ${target}?download`,
    `GET ${target}/?zip`,
    `GET ${target}/?search=e`,
    `GET ${target}/?json`,
    `DELETE ${target}`,
    `POST ${target}?mkdir`,
    `POST ${target}?move=/stolen`,
    `HEAD ${target}?upload`,
    `POST /inside.txt?move=${encodeURIComponent(decodeLoosely(target))}`,
    `MKCOL ${target}`,
    `GET /?zip&name=${encodeURIComponent(target.slice(1))}`,
  ];
  for (const head of heads) yield `${head} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
  yield `PUT ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 4\r\n\r\nevil`;
  yield `MOVE /inside.txt HTTP/1.1\r\nHost: ${host}\r\nDestination: ${target}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
  yield `MOVE ${target} HTTP/1.1\r\nHost: ${host}\r\nDestination: /stolen\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
}

function decodeLoosely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Every file and folder below `folder` with its content, but for what the share was allowed to change. */
function snapshot(base: string): string {
  const list = (folder: string) =>
    fs.readdirSync(folder, { recursive: true }).map(String).sort().map((name) => {
      const file = path.join(folder, name);
      return fs.statSync(file).isFile() ? `${name}=${fs.readFileSync(file, "utf8")}` : name;
    });
  return [
    ...fs.readdirSync(base),
    ...list(path.join(base, "outside")),
    ...list(path.join(base, "shared-sibling")),
    fs.readFileSync(path.join(base, "secret.txt"), "utf8"),
    fs.readFileSync(path.join(base, "shared", ".env"), "utf8"),
  ].join("\n");
}

async function sendCorpus(client: RunningClient, base: string, targets: readonly string[]): Promise<void> {
  const before = snapshot(base);
  const { host } = new URL(client.url);
  for (const target of targets) {
    const answers = await Promise.all([...routes(target, host)].map((head) => sendRaw(client.port, head)));
    for (const { text, status } of answers) {
      ok(!text.includes(SECRET) && !text.includes("root:x:"), `${target}: ${text}`);
      ok(status < 500 && status !== 0, `${target}: ${text}`);
    }
    // What stayed inside may have worked: a file called "..;" is a file like any other.
    fs.writeFileSync(path.join(base, "shared", "inside.txt"), "inside");
    fs.mkdirSync(path.join(base, "shared", "sub"), { recursive: true });
    const stolen = path.join(base, "shared", "stolen");
    ok(!fs.lstatSync(stolen, { throwIfNoEntry: false })?.isSymbolicLink(), `${target} moved a link`);
    fs.rmSync(stolen, { recursive: true, force: true });
  }
  equal(snapshot(base), before);
}

Deno.test("a writable share refuses every way out, sent over raw sockets on every route", async () => {
  using folder = openFolder();
  await using client = await startLocal("-fw", plant(folder.path));
  await sendCorpus(client, folder.path, TARGETS);
});

Deno.test("a writable share behind a tunnel refuses every way out", async () => {
  using folder = openFolder();
  await using client = await startTunnel("-fw", plant(folder.path));
  await sendCorpus(client, folder.path, [...ODD, ...UP.map((up) => `/${up}/outside/secret.txt`)]);
});

Deno.test("a site refuses every way out", async () => {
  using folder = openFolder();
  await using client = await startLocal("-w", plant(folder.path), "--spa");
  const { host } = new URL(client.url);
  for (const target of TARGETS) {
    for (const method of ["GET", "HEAD"]) {
      const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const { text, status } = await sendRaw(client.port, head);
      ok(!text.includes(SECRET) && status < 500 && status !== 0, `${target}: ${text}`);
    }
  }
});

Deno.test("a share on the local network answers to its own names only", async () => {
  using folder = openFolder();
  await using client = await startLocal("-f", plant(folder.path));
  const ask = async (host: string) =>
    (await sendRaw(client.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status;
  equal(await ask("rebound.example"), 421);
  equal(await ask("localhost.evil.example:80"), 421);
  equal(await ask(`127.0.0.1:${client.port}`), 200);
  equal(await ask("localhost"), 200);
});
