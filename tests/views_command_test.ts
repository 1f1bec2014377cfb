import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { brotliCompressSync } from "node:zlib";
import { isThere, runAtTerminal, within } from "./kit.ts";
import { findFreePort } from "./kit/free_port.ts";
import { startViewsServer } from "./views_kit.ts";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function run({ startClient }: Awaited<ReturnType<typeof startViewsServer>>, ...args: string[]) {
  await using client = startClient(args);
  const { code } = await within(args.join(" "), client.ended);
  return { code, output: client.output.text, errors: client.errors.text };
}

Deno.test("views are added, listed and opened from the command line", async () => {
  await using views = await startViewsServer();
  const { url } = views.server;
  const added = JSON.parse((await run(views, "--views-add", "--json")).output);
  deepEqual([added.event, added.name], ["view", "Unnamed view #1"]);
  match(added.id, ID);
  equal(added.captureUrl, `${url}/req/${added.id}`);
  equal(added.browserUrl, `${url}/views/${added.id}/capture`);
  const named = await run(views, "--views-add", "Stripe events");
  equal(named.code, 0);
  match(
    named.output,
    /^ {2}Name {9}Stripe events\n {2}ID {11}[0-9a-f-]{36}\n {2}Capture URL {2}http.*\n {2}Browser URL {2}http/,
  );
  match((await run(views, "--views-list")).output, /^ {2}1 {2}Unnamed view #1\n {5}http.*\n {2}2 {2}Stripe events\n/);
  equal((await run(views, "--views-open", added.id.slice(0, 8))).output.trim(), added.browserUrl);
});

Deno.test("a number that is typed at the list shows all of that view", async () => {
  if (!await isThere("script", ["--version"], "a terminal to type at")) return;
  await using views = await startViewsServer();
  await views.addView("First");
  const { id, browserUrl, captureUrl } = await views.addView("Second");
  await (await fetch(captureUrl, { method: "POST", body: "12345" })).text();
  const { code, seen } = await runAtTerminal({
    args: ["--server", views.server.url, "--views-list"],
    env: { PORTWAY_TOKEN: views.token },
    question: "Number of a view for its details, or Enter: ",
    answers: ["2", "7", ""],
  });
  equal(code, 0);
  match(seen, new RegExp(`  Name         Second\\r?\\n  ID           ${id}\\r?\\n`));
  ok(seen.includes(`  Browser URL  ${browserUrl}`));
  match(seen, / {2}Captures {5}1 \(\d+ B\), at most 16384/);
  match(seen, /There is no number 7 in the list\./);
});

Deno.test("a service that is not there is told of in a line, and the tail goes on", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const port = findFreePort();
  await using tail = views.startClient(["--views-tail", id, "--forward", String(port)]);
  await tail.output.waitFor((line) => line.includes("Press Ctrl+C"));
  for (const name of ["a", "b"]) {
    await (await fetch(`${captureUrl}/${name}`)).text();
    await tail.output.waitFor((line) => line.includes(`/${name}`));
  }
  await tail.output.waitFor((line) =>
    line ===
      `Capture 2 was not delivered to http://localhost:${port}: cannot connect to localhost port ${port}: connection refused`
  );
  tail.kill("SIGINT");
  equal((await tail.ended).code, 0);
});

Deno.test("a name that two views have is refused with both, and one in other capitals is found", async () => {
  await using views = await startViewsServer();
  const one = await views.addView("One");
  await views.addView("Two");
  const twice = await views.addView("One");
  const { code, errors } = await run(views, "--views-open", "One");
  equal(code, 1);
  match(
    errors,
    new RegExp(`^portway: "One" is more than one view: ${one.id.slice(0, 8)} One, ${twice.id.slice(0, 8)} One\n?$`),
  );
  equal((await run(views, "--views-open", "two")).code, 0);
});

Deno.test("what goes by no view or no capture is one line and exit code 1", async () => {
  await using views = await startViewsServer();
  const none = await run(views, "--views-tail", "nothing");
  deepEqual([none.code, none.errors.trim()], [
    1,
    'portway: there is no view "nothing" in this account: there is none yet: --views-add makes one',
  ]);
  const { id } = await views.addView();
  const replay = await run(views, "--views-replay", id, "5", "--forward", "1");
  equal(replay.code, 1);
  match(replay.errors, /^portway: This view has no such capture\./);
  const wrong = await run(views, "--forward", "80", "--views-list");
  deepEqual([wrong.code, wrong.errors.trim()], [2, "portway: --forward goes with --views-tail or --views-replay"]);
});

Deno.test("a tail shows calls as they come, with details, headers and payload", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView("Orders");
  await using tail = views.startClient(["--views-tail", "orders"]);
  await tail.output.waitFor((line) => line.includes("Press Ctrl+C"));
  const headers = { "content-type": "application/json", "x-evil": "a\u00ff" };
  await (await fetch(`${captureUrl}/new?x=1`, { method: "POST", body: '{"b":[1,{"c":"\\u001b"}]}', headers })).text();
  await tail.output.waitFor((line) => line === "}");
  const { text } = tail.output;
  match(text, /─ \d\d:\d\d:\d\d ─/);
  match(text, /Request Details\n {2}Host {5}localhost:\d+\n {2}Method {3}POST\n {2}Path {5}\/new\?x=1\n/);
  match(text, /Request Headers\n(?: {2}\S.*\n)* {2}content-type +application\/json\n/i);
  match(text, /Body Payload\n\{\n {2}"b": \[\n {4}1,\n {4}\{\n/);
  equal(text.includes(id), true);
  const coded = { "content-type": "application/json", "content-encoding": "br" };
  await (await fetch(captureUrl, { method: "POST", body: brotliCompressSync('{"c":2}'), headers: coded })).text();
  await tail.output.waitFor((line) => line === '  "c": 2');
  match(tail.output.text, /Body Payload \(decoded from br\)\n\{\n {2}"c": 2\n\}\n/);
  tail.kill("SIGINT");
  equal((await tail.ended).code, 0);
});

Deno.test("a tail delivers captures byte for byte to a local service, and one can be sent again", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const came: { url: string; headers: string[]; body: Buffer }[] = [];
  const service = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    came.push({ url: request.url ?? "", headers: request.rawHeaders, body: Buffer.concat(pieces) });
    const headers = { "content-type": "text/plain", "content-encoding": "br" };
    response.writeHead(201, headers).end(brotliCompressSync("thanks"));
  }).listen(0, "127.0.0.1");
  service.on("close", resolve);
  await new Promise<void>((resolve) => service.on("listening", resolve));
  const { port } = service.address() as AddressInfo;
  try {
    await using tail = views.startClient(["--views-tail", id, "--forward", String(port), "--json"]);
    await tail.events.waitFor("tailing");
    const body = crypto.getRandomValues(new Uint8Array(60_000));
    const long = new Uint8Array(3_000_000).fill(0xfe);
    await (await fetch(`${captureUrl}/a%20b?c=%ff`, { method: "PUT", body, headers: { "X-Odd": "1" } })).text();
    const first = await tail.events.waitFor("delivered");
    deepEqual([first.status, first.body, first.capture], [201, "thanks", "1"]);
    await (await fetch(captureUrl, { method: "POST", body: long })).text();
    await tail.events.waitFor("delivered", (event) => event.capture === "2");
    equal(came[0].url, "/a%20b?c=%ff");
    equal(Buffer.compare(came[0].body, body), 0);
    equal(Buffer.compare(came[1].body, long), 0);
    const replayed = await run(
      views,
      "--views-replay",
      id.slice(0, 10),
      "1",
      "--forward",
      `http://127.0.0.1:${port}/x`,
    );
    deepEqual([replayed.code, replayed.errors], [0, ""]);
    match(replayed.output, /^Response of http:\/\/127\.0\.0\.1:\d+\/x to capture 1: 201 Created, .*, 10 B\nthanks\n/);
    equal(came[2].url, "/x/a%20b?c=%ff");
  } finally {
    service.close();
    service.closeAllConnections();
    await stopped;
  }
});

interface Holding extends AsyncDisposable {
  port: number;
  /** Paths in the order in which requests arrived. */
  order: string[];
  /** Resolves when a request for the path has arrived, with a function that answers it. */
  held(path: string): Promise<() => void>;
}

/** A service that holds each request until the test releases it. */
async function startHolding(): Promise<Holding> {
  const waiting = new Map<string, PromiseWithResolvers<() => void>>(), order: string[] = [];
  const find = (path: string) => {
    const found = waiting.get(path) ?? Promise.withResolvers<() => void>();
    waiting.set(path, found);
    return found;
  };
  const service = createServer((request, response) => {
    const path = request.url ?? "";
    order.push(path);
    request.resume();
    find(path).resolve(() => void response.end("done"));
  }).listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => service.on("listening", resolve));
  return {
    port: (service.address() as AddressInfo).port,
    order,
    held: (path) => find(path).promise,
    async [Symbol.asyncDispose]() {
      service.closeAllConnections();
      await new Promise((resolve) => service.close(resolve));
    },
  };
}

Deno.test("a slow service delays no display: calls are shown at once, and delivered in order or several at a time", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  for (const concurrency of [1, 3]) {
    await using service = await startHolding();
    const flags = ["--forward", `localhost:${service.port}/hook?key=1`, "--forward-concurrency", String(concurrency)];
    await using tail = views.startClient(["--views-tail", id, "--json", ...flags]);
    await tail.events.waitFor("tailing");
    for (const name of ["a", "b", "c"]) await (await fetch(`${captureUrl}/${name}?n=${name}`)).text();
    const last = await tail.events.waitFor("capture", (event) => event.path === `/req/${id}/c`);
    ok(last);
    const paths = ["a", "b", "c"].map((name) => `/hook/${name}?key=1&n=${name}`);
    if (concurrency === 1) {
      for (const [at, path] of paths.entries()) {
        const release = await service.held(path);
        deepEqual(service.order, paths.slice(0, at + 1), "one at a time");
        release();
        await tail.events.waitFor("delivered");
      }
    } else {
      for (const release of await Promise.all(paths.map((path) => service.held(path)))) release();
      await tail.events.waitFor("delivered");
    }
    tail.kill("SIGINT");
    equal((await tail.ended).code, 0);
  }
});

Deno.test("--forward-timeout ends a delivery to a service that does not answer", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  await using service = await startHolding();
  await using tail = views.startClient([
    "--views-tail",
    id,
    "--json",
    "--forward",
    String(service.port),
    "--forward-timeout",
    "1",
  ]);
  await tail.events.waitFor("tailing");
  await (await fetch(captureUrl)).text();
  const { reason } = await tail.events.waitFor("delivery_failed");
  match(String(reason), /no response within 1 s$/);
});

Deno.test("a service that speaks HTTP/2 alone is named as such", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const service = createHttp2Server().listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => service.on("listening", resolve));
  const { port } = service.address() as AddressInfo;
  try {
    await using tail = views.startClient(["--views-tail", id, "--json", "--forward", String(port)]);
    await tail.events.waitFor("tailing");
    await (await fetch(captureUrl)).text();
    match(String((await tail.events.waitFor("delivery_failed")).reason), /speaks HTTP\/2/);
  } finally {
    await new Promise<void>((resolve) => service.close(() => resolve()));
  }
});

Deno.test("--since begins a tail with earlier calls, by a time or by a call", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  for (const name of ["a", "b", "c"]) await (await fetch(`${captureUrl}/${name}`)).text();
  for (const [since, first] of [["1h", "a"], ["2", "b"], ["3", "c"]]) {
    await using tail = views.startClient(["--views-tail", id, "--json", "--since", since]);
    equal((await tail.events.waitFor("capture")).path, `/req/${id}/${first}`, since);
    if (first !== "c") await tail.events.waitFor("capture", (event) => event.path === `/req/${id}/c`);
  }
  const wrong = await run(views, "--views-tail", id, "--since", "yesterday");
  deepEqual([wrong.code, /30s, 15m, 1h or 2d/.test(wrong.errors)], [2, true]);
  equal((await run(views, "--since", "1h", "--views-list")).errors.trim(), "portway: --since goes with --views-tail");
});

Deno.test("--verify checks the signature of each call in the tail", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const sign = (body: string) => `sha256=${createHmac("sha256", "s3cret").update(body).digest("hex")}`;
  await using tail = views.startClient([
    "--views-tail",
    id,
    "--json",
    "--verify",
    "github",
    "--verify-secret",
    "s3cret\n",
  ]);
  await using shown = views.startClient([
    "--views-tail",
    id,
    "--verify",
    "hmac:X-Own:sha256:hex",
    "--verify-secret",
    "s3cret",
  ]);
  await tail.events.waitFor("tailing");
  await shown.output.waitFor((line) => line.includes("Press Ctrl+C"));
  const long = "x".repeat(3_000_000);
  const sent: [body: string, signed: string | null, result: string][] = [
    ["hello", "hello", "valid"],
    [long, long, "valid"],
    ["hello", "other", "invalid"],
    ["hello", null, "unsigned"],
  ];
  for (const [at, [body, signed, result]] of sent.entries()) {
    const headers: Record<string, string> = signed === null
      ? {}
      : { "x-hub-signature-256": sign(signed), "x-own": sign(signed) };
    await (await fetch(captureUrl, { method: "POST", body, headers })).text();
    const { signature } = await tail.events.waitFor("capture", (event) => event.id === String(at + 1));
    deepEqual(signature, { sender: "GitHub", result });
  }
  for (const said of ["valid", "NOT VALID: the secret or the bytes differ", "missing"]) {
    await shown.output.waitFor((line) => line === `Signature of HMAC in X-Own: ${said}`);
  }
  const wrong = await run(views, "--views-tail", id, "--verify", "nobody", "--verify-secret", "x");
  match(wrong.errors, /unknown sender "nobody": use github, stripe/);
  match((await run(views, "--views-tail", id, "--verify", "github")).errors, /--verify needs a secret/);
});
