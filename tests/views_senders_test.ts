import { deepEqual, equal, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { sign, verify } from "@octokit/webhooks-methods";
import fs from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import Stripe from "stripe";
import { isThere, makeTempDir, rawRequest } from "./kit.ts";
import { startViewsServer, type ViewsServer } from "./views_kit.ts";

interface Kept {
  method: string;
  path: string;
  query: string | null;
  headers: [string, string][];
  bodySize: number;
  contentType: string | null;
}

/** The newest capture of a view, and its body's bytes. */
async function readNewest({ ask }: ViewsServer, id: string): Promise<Kept & { body: Buffer }> {
  const { captures: [newest] } = await (await ask(`/api/v1/views/${id}/captures?limit=1`)).json();
  const body = await (await ask(`/api/v1/views/${id}/captures/${newest.id}/body`)).arrayBuffer();
  return { ...newest, body: Buffer.from(body) };
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  if (!success) throw new Error(`${command}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

const noise = (size: number) => {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return Buffer.from(bytes);
};

Deno.test("what curl sends is kept byte for byte: 10 MiB, in chunks, with GET, duplicates, bytes above 0x7f", async () => {
  await using views = await startViewsServer();
  await using folder = await makeTempDir();
  const { id, captureUrl } = await views.addView();
  const file = path.join(folder.path, "body"), body = noise(10 * 1024 * 1024);
  fs.writeFileSync(file, body);
  const host = new URL(captureUrl).host;
  const curl = (...args: string[]) => run("curl", ["-sS", "--http1.1", "-A", "curl", ...args]);

  await curl(captureUrl, "--data-binary", `@${file}`, "-H", "Content-Type: application/octet-stream");
  const upload = await readNewest(views, id);
  equal(Buffer.compare(upload.body, body), 0);
  deepEqual(upload.headers, [
    ["Host", host],
    ["User-Agent", "curl"],
    ["Accept", "*/*"],
    ["Content-Type", "application/octet-stream"],
    ["Content-Length", String(body.length)],
    // It asks before it sends so much.
    ...(upload.headers.some(([name]) => name === "Expect") ? [["Expect", "100-continue"] as [string, string]] : []),
  ]);

  await curl(captureUrl, "-T", file, "-H", "Transfer-Encoding: chunked", "-H", "Expect:");
  const chunked = await readNewest(views, id);
  equal(Buffer.compare(chunked.body, body), 0);
  deepEqual([chunked.method, chunked.headers.at(-1)], ["PUT", ["Transfer-Encoding", "chunked"]]);

  await curl("-X", "GET", `${captureUrl}/a%2fb//c?x=%zz&y`, "--data-binary", "with a body", "-H", "Content-Type:");
  const get = await readNewest(views, id);
  deepEqual([get.method, get.path, get.query], ["GET", `/req/${id}/a%2fb//c`, "x=%zz&y"]);
  equal(get.body.toString(), "with a body");

  await curl("-X", "MKCOL", captureUrl, "-H", "X-Twice: 1", "-H", "x-twice: 2", "-H", "X-Utf: é");
  const twice = await readNewest(views, id);
  deepEqual(twice.headers.slice(-3), [["X-Twice", "1"], ["x-twice", "2"], ["X-Utf", "Ã©"]]);
});

Deno.test("what Node, Python and a bare socket send is kept byte for byte", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const body = noise(100_000);
  await new Promise<void>((resolve, reject) => {
    const headers = ["X-Order", "z", "A-Order", "a", "x-order", "\xfe", "Content-Length", String(body.length)];
    const { host } = new URL(captureUrl);
    request(
      captureUrl,
      { method: "POST", headers: ["Host", host, ...headers] },
      (answer) => answer.resume().on("end", resolve),
    ).on("error", reject).end(body);
  });
  const node = await readNewest(views, id);
  equal(Buffer.compare(node.body, body), 0);
  const sent = node.headers.map(([name, value]) => `${name}: ${value}`);
  deepEqual(sent.slice(1, 5), ["X-Order: z", "A-Order: a", "x-order: \xfe", `Content-Length: ${body.length}`]);

  if (await isThere("python3", ["--version"], "the urllib of Python")) {
    const script = "import sys, urllib.request\n" +
      "data = bytes(range(256)) * 300\n" +
      "request = urllib.request.Request(sys.argv[1], data, {'Content-type': 'a/b', 'X-Signature': 'abc'}, method='PATCH')\n" +
      "print(urllib.request.urlopen(request).status)\n";
    equal((await run("python3", ["-c", script, captureUrl])).trim(), "200");
    const python = await readNewest(views, id);
    equal(Buffer.compare(python.body, Buffer.from(Array.from({ length: 256 * 300 }, (_, at) => at % 256))), 0);
    deepEqual([python.method, python.contentType], ["PATCH", "a/b"]);
    ok(python.headers.some(([name, value]) => name === "X-Signature" && value === "abc"));
  }

  const { hostname, port } = new URL(captureUrl);
  const text =
    `QUERY /req/${id}?\xff HTTP/1.1\r\nHOST: ${hostname}:${port}\r\nx-a:1\r\nX-A:\t\x80 \r\nConnection: close\r\n` +
    "Content-Length: 3\r\n\r\n\r\n\xff";
  await rawRequest(Number(port), text);
  const raw = await readNewest(views, id);
  deepEqual([raw.method, raw.query, raw.body.toString("latin1")], ["QUERY", "\xff", "\r\n\xff"]);
  deepEqual(raw.headers.slice(0, 3), [["HOST", `${hostname}:${port}`], ["x-a", "1"], ["X-A", "\x80"]]);
});

Deno.test("libraries that verify webhooks accept what a tail delivers", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const secret = "whsec_test", stripe = new Stripe("sk_test_nothing");
  const verdicts: unknown[] = [];
  const service = createServer(async (came, answer) => {
    const pieces: Buffer[] = [];
    for await (const piece of came) pieces.push(piece);
    const body = Buffer.concat(pieces), github = came.headers["x-hub-signature-256"];
    if (github !== undefined) verdicts.push(await verify(secret, body.toString(), String(github)));
    else {
      const signature = String(came.headers["stripe-signature"]);
      verdicts.push((await stripe.webhooks.constructEventAsync(body, signature, secret)).type);
    }
    answer.end("ok");
  }).listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => service.on("listening", resolve));
  try {
    const target = `http://127.0.0.1:${(service.address() as AddressInfo).port}/hooks`;
    await using tail = views.startClient(["--views-tail", id, "--forward", target, "--json"]);
    await tail.events.waitFor("tailing");
    // Neither order, nor spaces, nor escapes are those that a program would write again.
    const push = '{ "zen":"Mind your \\u00e9s — ✓", "b":1.0,"a":12345678901234567890 }\n';
    const signature = await sign(secret, push);
    await fetch(captureUrl, { method: "POST", body: push, headers: { "x-hub-signature-256": signature } })
      .then((answer) => answer.text());
    await tail.events.waitFor("delivered");
    const event = '{"id":"evt_1","object":"event", "type":"charge.succeeded","data":{"object":{"name":"Zoë"}}}';
    const header = await stripe.webhooks.generateTestHeaderStringAsync({ payload: event, secret });
    await fetch(captureUrl, { method: "POST", body: event, headers: { "stripe-signature": header } })
      .then((answer) => answer.text());
    await tail.events.waitFor("delivered", ({ capture }) => capture === "2");
    deepEqual(verdicts, [true, "charge.succeeded"]);
  } finally {
    service.closeAllConnections();
    await new Promise((resolve) => service.close(resolve));
  }
});
