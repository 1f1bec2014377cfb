import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { openFolder, startLocal, startTunnel } from "./files_kit.ts";

const PAGE = { accept: "text/html" };

for (const [kind, start] of [["on the local network", startLocal], ["behind a tunnel", startTunnel]] as const) {
  Deno.test(`a share ${kind} with --cors and --header lets pages of other sites read, and says what it was told to say`, async () => {
    using folder = openFolder();
    fs.writeFileSync(path.join(folder.path, "a.txt"), "a");
    await using client = await start(
      ...["-fw", folder.path, "-p", "word", "--cors", "--header", "X-Robots-Tag: none", "--header", "x-two:2"],
    );
    const origin = "https://app.example";
    const asks = { origin, "access-control-request-method": "PUT", "access-control-request-headers": "authorization" };
    const preflight = await visit(client.url, { method: "OPTIONS", headers: asks });
    const allowed = ["origin", "methods", "headers"].map((name) => preflight.get(`access-control-allow-${name}`));
    deepEqual([preflight.status, ...allowed], [204, "*", "PUT", "authorization"]);
    const refused = await visit(client.url, { headers: { origin } });
    deepEqual([refused.status, refused.get("access-control-allow-origin"), refused.get("x-two")], [401, "*", "2"]);
    const authorization = `Basic ${btoa(":word")}`;
    const put = await visit(`${client.url}b.txt`, { method: "PUT", headers: { origin, authorization }, body: "b" });
    deepEqual([put.status, put.get("x-robots-tag")], [201, "none"]);
  });
}

/** Asks by curl, which finds a tunnel's name on this machine, and takes the head of the answer apart. */
function visit(url: string, { method = "GET", headers, body }: { method?: string; headers: object; body?: string }) {
  const fields = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const data = body === undefined ? [] : ["--data-binary", body];
  const { stdout } = spawnSync("curl", ["-sS", "-i", "-X", method, ...fields, ...data, url], { encoding: "utf8" });
  const [head] = stdout.split("\r\n\r\n");
  return {
    status: Number(head.split(" ")[1]),
    get: (name: string) => new RegExp(`^${name}: (.*?)\r?$`, "im").exec(head)?.[1] ?? null,
  };
}

Deno.test("without --cors no page of another site reads or changes a share", async () => {
  using folder = openFolder();
  await using client = await startLocal("-fw", folder.path);
  const headers = { origin: "https://app.example" };
  const read = await fetch(client.url, { headers });
  equal(read.headers.get("access-control-allow-origin"), null);
  await read.body?.cancel();
  const put = await fetch(`${client.url}a.txt`, { method: "PUT", headers, body: "a" });
  equal(put.status, 403);
  await put.body?.cancel();
});

Deno.test("a share with --drop takes files by curl and by its page, and shows nothing", async () => {
  using folder = openFolder();
  fs.writeFileSync(path.join(folder.path, "theirs.txt"), "secret");
  await using client = await startLocal("-fw", folder.path, "--drop", "--max-upload", "1kB");
  const page = await (await fetch(client.url, { headers: PAGE })).text();
  ok(page.includes("At most 1.00 kB each") && !page.includes("theirs"), page);
  const source = path.join(folder.path, "theirs.txt");
  const { stdout } = spawnSync("curl", ["-sS", "-F", `file=@${source}`, client.url], { encoding: "utf8" });
  deepEqual(JSON.parse(stdout), { uploaded: ["theirs.txt"] });
  equal(spawnSync("curl", ["-sSf", "-T", source, client.url], { encoding: "utf8" }).status, 0);
  const names = fs.readdirSync(folder.path).filter((name) => !name.startsWith(".")).sort();
  deepEqual(names, ["theirs (2).txt", "theirs (3).txt", "theirs.txt"]);
  const large = await fetch(`${client.url}large`, { method: "PUT", body: "x".repeat(1001) });
  equal(large.status, 417);
  await large.body?.cancel();
});

Deno.test("a site without an index says so where it is started, and one behind a passphrase asks for it", async () => {
  using folder = openFolder();
  fs.writeFileSync(path.join(folder.path, "about.html"), "about");
  await using client = await startLocal("-w", folder.path, "-p", "word");
  // The next line after the one that a test waits for.
  while (!client.output.some((line) => line.includes("has no index.html"))) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const closed = await fetch(`${client.url}about`, { headers: PAGE });
  deepEqual([closed.status, (await closed.text()).includes("This share is protected")], [401, true]);
  const signIn = await fetch(`${client.url}about?login`, {
    method: "POST",
    headers: { ...PAGE, "content-type": "application/x-www-form-urlencoded" },
    body: "passphrase=word",
    redirect: "manual",
  });
  equal(signIn.status, 303);
  const cookie = signIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  match(await (await fetch(`${client.url}about`, { headers: { ...PAGE, cookie } })).text(), /^about$/);
});

Deno.test("wget follows the links of a share and gets every file of it", async () => {
  if (spawnSync("which", ["wget"]).status !== 0) {
    return void process.stdout.write('left out: "wget" is not installed\n');
  }
  using shared = openFolder();
  using copy = openFolder();
  const files = ["a.txt", "sub/b #1.txt", "sub/deep/ü & <c>.txt", "sub/50%.txt"];
  for (const name of files) {
    fs.mkdirSync(path.dirname(path.join(shared.path, name)), { recursive: true });
    fs.writeFileSync(path.join(shared.path, name), name);
  }
  await using client = await startLocal("-f", shared.path);
  const flags = ["-r", "-np", "-nH", "-q", "--restrict-file-names=nocontrol", "-R", "index.html*", client.url];
  spawnSync("wget", flags, { cwd: copy.path });
  for (const name of files) equal(fs.readFileSync(path.join(copy.path, name), "utf8"), name);
});
