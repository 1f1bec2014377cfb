import { deepEqual, equal, ok } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { openFolder, type RunningClient, sendRaw, startLocal, startTunnel } from "./files_kit.ts";

const PASSPHRASE = "open sesame";
const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "MKCOL", "MOVE", "PATCH", "PROPFIND"];
const TARGETS = [
  "/",
  "/private.txt",
  "/private.txt?download",
  "/private.txt?upload",
  "/private/",
  "/private",
  "/?zip",
  "/?search=private",
  "/?json",
  "/?simple",
  "/?mkdir",
  "/private.txt?move=/x",
  "/.portway/x/app.js",
  "/.portway/live",
  "/missing",
  "/%2e%2e/x",
  "/%zz",
];
const ACCEPTS = ["*/*", "text/html", "application/json"];

for (const [kind, start] of [["on the local network", startLocal], ["through a tunnel", startTunnel]] as const) {
  Deno.test(`a protected share ${kind} answers 401 to every method on every route and tells no name`, async () => {
    using folder = openFolder();
    fs.mkdirSync(path.join(folder.path, "private"));
    fs.writeFileSync(path.join(folder.path, "private.txt"), "private content");
    await using client = await start("-fw", folder.path, "-p", PASSPHRASE);
    for (const method of METHODS) {
      for (const target of TARGETS) {
        for (const accept of ACCEPTS) {
          const { status, text } = await ask(client, method, target, { accept });
          equal(status, 401, `${method} ${target} ${accept}`);
          // A relay passes no portway-error on: there it says that the error is the relay's own.
          if (start === startLocal) ok(text.includes("portway-error: passphrase_required"), text);
          ok(!text.includes("private") && !text.includes(path.basename(folder.path)), `${method} ${target}: ${text}`);
        }
      }
    }
    const upgrade = await ask(client, "GET", "/", {
      upgrade: "websocket",
      connection: "upgrade, close",
      "sec-websocket-key": "AA==",
    });
    ok([400, 401, 501].includes(upgrade.status), `${upgrade.status}`);
    deepEqual(fs.readdirSync(folder.path).sort(), ["private", "private.txt"]);

    const authorization = `Basic ${btoa(`me:${PASSPHRASE}`)}`;
    equal((await ask(client, "GET", "/private.txt", { authorization })).status, 200);
    ok(!client.output.join("").includes(PASSPHRASE));
  });
}

Deno.test("a protected share slows wrong passphrases down and takes the right one in time", async () => {
  using folder = openFolder();
  await using client = await startLocal("-f", folder.path, "-p", PASSPHRASE);
  const statuses: number[] = [];
  for (let tries = 0; tries < 8; tries++) {
    const { status } = await ask(client, "GET", "/", { authorization: `Basic ${btoa("me:wrong")}` });
    statuses.push(status);
  }
  deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429, 429]);
});

Deno.test("a protected share signs nobody out for another site", async () => {
  using folder = openFolder();
  await using client = await startLocal("-f", folder.path, "-p", PASSPHRASE);
  const { origin } = new URL(client.url);
  for (const [from, wanted] of [["https://evil.example", 403], ["null", 403], [origin, 204]] as const) {
    const { status, text } = await ask(client, "POST", "/?logout", { origin: from });
    equal(status, wanted, from);
    equal(/^set-cookie: .*Max-Age=0/im.test(text), wanted === 204, text);
  }
  equal((await ask(client, "POST", "/?logout", {})).status, 204);
});

function ask(client: RunningClient, method: string, target: string, headers: Record<string, string>) {
  const fields = Object.entries({ connection: "close", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const { host } = new URL(client.url);
  return sendRaw(client.port, `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n${fields}\r\n`);
}
