import { deepEqual, equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { startArea, type TestArea } from "./captures_kit_test.ts";

type Json = Record<string, unknown>;

/** Sends raw bytes and reads until the peer closes the connection. */
async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("data", (chunk) => chunks.push(Buffer.from(chunk))).on("close", () => resolve()).on("error", reject);
  socket.write(Buffer.from(text, "latin1"));
  await promise;
  return Buffer.concat(chunks).toString("latin1");
}

async function captureOf({ ask }: TestArea, id: string, capture = "1"): Promise<Json> {
  return await (await ask(`/api/v1/views/${id}/captures/${capture}`)).json();
}

const bodyOf = async ({ ask }: TestArea, id: string, capture = "1") =>
  new Uint8Array(await (await ask(`/api/v1/views/${id}/captures/${capture}/body`)).arrayBuffer());

Deno.test("a call is kept as it came over the wire, before it is answered", async () => {
  await using area = await startArea();
  const { id } = await area.addView();
  const body = "\x00caf\xe9\xff";
  const answer = await sendRaw(
    area.port,
    `PURGE /req/${id}/a%20b/\xe9?x=1?&y=%ff HTTP/1.1\r\nhOST: example.com\r\nX-Twice: 1\r\nx-tWICE:  2 \r\nX-High: \x80\xff\r\n` +
      `Content-Type: x/y\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  match(answer, /\{"status":"captured","id":"1"\}\n$/);
  const capture = await captureOf(area, id);
  deepEqual(capture.headers, [
    ["hOST", "example.com"],
    ["X-Twice", "1"],
    ["x-tWICE", "2"],
    ["X-High", "\x80\xff"],
    ["Content-Type", "x/y"],
    ["Content-Length", "6"],
    ["Connection", "close"],
  ]);
  deepEqual(
    [capture.method, capture.path, capture.query, capture.httpVersion, capture.host, capture.address],
    ["PURGE", `/req/${id}/a%20b/\xe9`, "x=1?&y=%ff", "1.1", "example.com", "127.0.0.1"],
  );
  deepEqual([capture.bodySize, capture.contentType, capture.id, capture.cursor], [6, "x/y", "1", 1]);
  equal(Buffer.from(String(capture.body), "base64").toString("latin1"), body);
  equal(Buffer.from(await bodyOf(area, id)).toString("latin1"), body);
});

Deno.test("a GET with a body and a chunked body are kept with their bytes", async () => {
  await using area = await startArea();
  const { id } = await area.addView();
  const end = "Host: x\r\nConnection: close\r\n";
  await sendRaw(area.port, `GET /req/${id} HTTP/1.1\r\n${end}Content-Length: 2\r\n\r\nhi`);
  await sendRaw(
    area.port,
    `POST /req/${id} HTTP/1.1\r\n${end}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3;x\r\ncde\r\n0\r\n\r\n`,
  );
  equal(new TextDecoder().decode(await bodyOf(area, id, "1")), "hi");
  equal(new TextDecoder().decode(await bodyOf(area, id, "2")), "abcde");
});

for (const size of [0, 1, 65_535, 65_536, 65_537, 64 * 1024 + 256 * 1024, 10 * 1024 * 1024 + 3]) {
  Deno.test(`a body of ${size} bytes comes back byte for byte`, async () => {
    await using area = await startArea();
    const { id, captureUrl } = await area.addView();
    const body = new Uint8Array(size);
    for (let at = 0; at < size; at += 4096) crypto.getRandomValues(body.subarray(at, at + 4096));
    equal((await (await fetch(captureUrl, { method: "POST", body })).json()).status, "captured");
    equal(Buffer.compare(await bodyOf(area, id), body), 0);
    const capture = await captureOf(area, id);
    equal(capture.bodySize, size);
    equal("bodyTruncated" in capture, size > 65_536);
  });
}

Deno.test("a body that is too long is 413, announced or not, and nothing of it stays", async () => {
  await using area = await startArea({ maxBodyBytes: 300_000 });
  const { id, captureUrl } = await area.addView();
  const whole = await fetch(captureUrl, { method: "POST", body: new Uint8Array(300_001) });
  equal(whole.status, 413);
  equal((await whole.json()).error.code, "body_too_large");
  const chunks = new ReadableStream({
    start(controller) {
      for (let count = 0; count < 4; count++) controller.enqueue(new Uint8Array(100_000));
      controller.close();
    },
  });
  const chunked = await fetch(captureUrl, { method: "POST", body: chunks });
  equal(chunked.status, 413);
  await chunked.body?.cancel();
  equal((await fetch(captureUrl, { method: "POST", body: new Uint8Array(300_000) }).then((it) => it.json())).id, "1");
  const page = await (await area.ask(`/api/v1/views/${id}/captures`)).json();
  equal(page.captures.length, 1);
});

Deno.test("who waits for 100 Continue with too much is told 417 with both sizes, before the body", async () => {
  await using area = await startArea({ maxBodyBytes: 1000 });
  const { id } = await area.addView();
  const head = `POST /req/${id} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n`;
  const refused = await sendRaw(area.port, `${head}Content-Length: 1001\r\n\r\n`);
  match(refused, /^HTTP\/1\.1 417 Expectation Failed\r\n/);
  deepEqual(JSON.parse(refused.slice(refused.indexOf("\r\n\r\n"))), {
    error: "Expectation Failed",
    message: "The announced body is too large.",
    suggestion: "Send a smaller body.",
    max_file_size: 1000,
    your_file_size: 1001,
  });
  const taken = await sendRaw(area.port, `${head}Content-Length: 4\r\nConnection: close\r\n\r\nbody`);
  match(taken, /^HTTP\/1\.1 200 OK\r\n/);
});

Deno.test("addresses of no view are 404, and reading is not in the hands of who may send", async () => {
  await using area = await startArea();
  const { id } = await area.addView();
  for (
    const path of ["/req", "/req/", "/req/x", `/req/${crypto.randomUUID()}`, `/req/${id}x`]
  ) {
    const response = await fetch(area.url + path);
    equal(`${path} ${response.status}`, `${path} 404`);
    equal((await response.json()).error.code, "view_not_found");
  }
  const nobody = await fetch(`${area.url}/api/v1/views/${id}/captures`);
  equal(nobody.status, 401);
  await nobody.body?.cancel();
});

Deno.test("a view answers as it is told to, and is no page of this server", async () => {
  await using area = await startArea();
  const headers = [["Content-Type", "text/html"], ["X-Own", "\xe9"]];
  const { captureUrl } = await area.addView({ answer: { status: 418, headers, body: "<b>é ✓</b>" } });
  const response = await fetch(captureUrl);
  equal(response.status, 418);
  equal(await response.text(), "<b>é ✓</b>");
  equal(response.headers.get("content-type"), "text/html");
  equal(response.headers.get("content-security-policy"), "sandbox");
  equal(response.headers.get("x-content-type-options"), "nosniff");
  equal((await fetch(captureUrl, { method: "HEAD" })).status, 418);
});

Deno.test("a changed answer counts at once, and one without a body has none", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  equal((await fetch(captureUrl).then((it) => it.json())).status, "captured");
  await (await area.ask(`/api/v1/views/${id}`, "ann", { method: "PATCH", body: '{"answer":{"status":204}}' })).text();
  const empty = await fetch(captureUrl);
  equal(empty.status, 204);
  equal(await empty.text(), "");
});

Deno.test("pages of other origins may ask a view and read it only where it says so", async () => {
  await using area = await startArea();
  const open = await area.addView({ answer: { cors: true } });
  const closed = await area.addView();
  const preflight = (url: string) =>
    fetch(url, {
      method: "OPTIONS",
      headers: { "access-control-request-method": "PUT", "access-control-request-headers": "x-a, x-b" },
    });
  const allowed = await preflight(open.captureUrl);
  deepEqual(
    ["origin", "methods", "headers"].map((name) => allowed.headers.get(`access-control-allow-${name}`)),
    ["*", "PUT", "x-a, x-b"],
  );
  const call = await fetch(open.captureUrl);
  equal(call.headers.get("access-control-allow-origin"), "*");
  equal((await call.json()).id, "2");
  const refused = await preflight(closed.captureUrl);
  equal(refused.headers.get("access-control-allow-origin"), null);
  await refused.body?.cancel();
});

Deno.test("the wait before an answer ends when the caller leaves, and the call is there", async () => {
  await using area = await startArea();
  const { id } = await area.addView({ answer: { delayMs: 60_000 } });
  const tail = await area.ask(`/api/v1/views/${id}/stream?after=0`);
  const socket = connect(area.port, "127.0.0.1");
  socket.write(`GET /req/${id} HTTP/1.1\r\nHost: x\r\n\r\n`);
  let text = "";
  for await (const chunk of tail.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes("event: capture")) break;
  }
  socket.destroy();
  // The listener closes after its last exchange, so disposing the area would wait for the delay.
});

Deno.test("calls beyond the rate of a view or an address are 429 and say when to come back", async () => {
  await using view = await startArea({ perView: 2 });
  const { captureUrl } = await view.addView();
  const other = await view.addView();
  const statuses = async (url: string) => {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.status;
  };
  deepEqual([await statuses(captureUrl), await statuses(captureUrl), await statuses(captureUrl)], [200, 200, 429]);
  equal(await statuses(other.captureUrl), 200);
  await using address = await startArea({ perAddress: 1 });
  equal(await statuses(`${address.url}/req/unknown`), 404);
  const refused = await fetch(`${address.url}/req/unknown`);
  equal(refused.status, 429);
  match(refused.headers.get("retry-after") ?? "", /^\d+$/);
  await refused.body?.cancel();
});

Deno.test("a capture that is delivered to its own view is a loop", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  const response = await fetch(captureUrl, { headers: { "portway-capture": `${crypto.randomUUID()}, ${id}` } });
  equal(response.status, 508);
  equal((await response.json()).error.code, 508);
});

Deno.test("more than may wait in memory for the disk is 503, and once it is there calls are taken again", async () => {
  await using area = await startArea({ maxHeldBytes: 50_000 });
  const { captureUrl } = await area.addView();
  const refused = await fetch(captureUrl, { method: "POST", body: new Uint8Array(60_000) });
  equal(refused.status, 503);
  equal(refused.headers.get("retry-after"), "1");
  await refused.body?.cancel();
  for (let count = 0; count < 3; count++) {
    const taken = await fetch(captureUrl, { method: "POST", body: new Uint8Array(40_000) });
    equal(taken.status, 200);
    await taken.body?.cancel();
  }
});

Deno.test("a sender that leaves in the middle of a long body leaves nothing", async () => {
  await using area = await startArea();
  const { id } = await area.addView();
  const socket = connect(area.port, "127.0.0.1");
  socket.on("error", () => {});
  const chunks = area.store.captures;
  const { promise: removed, resolve } = Promise.withResolvers<string>();
  const { removeUpload } = chunks;
  chunks.removeUpload = async (bodyId) => {
    await removeUpload(bodyId);
    resolve(bodyId);
  };
  socket.write(`POST /req/${id} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
  socket.write(new Uint8Array(900_000), () => setTimeout(() => socket.destroy(), 50));
  equal(await chunks.readChunk(await removed, 0), null);
  const page = await (await area.ask(`/api/v1/views/${id}/captures`)).json();
  equal(page.captures.length, 0);
});

Deno.test("trailer fields of a call are kept, and an empty list of them is left out", async () => {
  await using area = await startArea();
  const { id } = await area.addView();
  await sendRaw(
    area.port,
    `POST /req/${id} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n` +
      "2\r\nhi\r\n0\r\nX-Sum:  abc \r\nX-High: \xe9\r\n\r\n",
  );
  deepEqual((await captureOf(area, id)).trailers, [["X-Sum", "abc"], ["X-High", "\xe9"]]);
  await (await area.ask(`/req/${id}`)).body?.cancel();
  equal((await captureOf(area, id, "2")).trailers, undefined);
});

/** Configures a view's response and returns a function that calls it. */
async function configure(area: TestArea, answer: object) {
  const { id } = await area.addView({ answer });
  return async (path: string, body?: string, headers: Record<string, string> = {}) => {
    const method = body === undefined ? "GET" : "POST";
    const response = await fetch(`${area.url}/req/${id}${path}`, { method, body, headers });
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      text: await response.text(),
      response,
    };
  };
}

Deno.test("a view responds to the verification challenge of each provider, and to other calls as configured", async () => {
  await using area = await startArea();
  const configured = { status: 202, body: "configured" };
  const cases: [string, Parameters<Awaited<ReturnType<typeof configure>>>, string, string?][] = [
    ["slack", ["", '{"type":"url_verification","token":"t","challenge":"3eZ<b>"}'], "3eZ<b>"],
    ["meta", ["?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=s"], "1158201444", " s\n"],
    ["dropbox", ["?challenge=abc%20d"], "abc d"],
    ["microsoft", ["?validationToken=Validation%3a+Testing", ""], "Validation: Testing"],
    [
      "zoom",
      ["", '{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}'],
      JSON.stringify({
        plainToken: "qgg8vlvZRS6UYooatFL8Aw",
        encryptedToken: createHmac("sha256", "secret").update("qgg8vlvZRS6UYooatFL8Aw").digest("hex"),
      }),
      "secret",
    ],
  ];
  for (const [challenge, call, expected, challengeSecret = null] of cases) {
    const ask = await configure(area, { ...configured, challenge, challengeSecret });
    const { status, text, type, response } = await ask(...call);
    if (challenge === "zoom") {
      match(text, /^\{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"[0-9a-f]{64}"\}$/);
    } else equal(text, expected, challenge);
    deepEqual([status, type], [200, challenge === "zoom" ? "application/json" : "text/plain; charset=utf-8"]);
    equal(response.headers.get("content-security-policy"), "sandbox");
    const other = await ask("?x=1", '{"event":"order"}');
    deepEqual([other.status, other.text], [202, "configured"], challenge);
  }
  const ask = await configure(area, { ...configured, challenge: "meta", challengeSecret: "right" });
  equal((await ask("?hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong")).status, 403);
});

Deno.test("a secret for challenges is trimmed and never returned", async () => {
  await using area = await startArea();
  const { id } = await area.addView({ answer: { challenge: "zoom", challengeSecret: " s3cret\n" } });
  const text = await (await area.ask(`/api/v1/views/${id}`)).text();
  equal(text.includes("s3cret"), false);
  equal(JSON.parse(text).answer.hasChallengeSecret, true);
  equal((await area.store.views.find(id))?.answer.challengeSecret, "s3cret");
  const change = (answer: object) =>
    area.ask(`/api/v1/views/${id}`, "ann", { method: "PATCH", body: JSON.stringify({ answer }) });
  equal((await (await change({ status: 201 })).json()).answer.hasChallengeSecret, true);
  equal((await (await change({ challengeSecret: "" })).json()).answer.hasChallengeSecret, false);
  equal((await change({ challenge: "nobody" })).status, 400);
});

Deno.test("placeholders stand for values of the call, escaped where the response is JSON, and only where enabled", async () => {
  await using area = await startArea();
  const body = "{{id}} {{method}} {{ query.name }} {{header.x-a}} {{json.items.0.id}}{{json.none}}{{unknown}}";
  const ask = await configure(area, { body, template: true, headers: [["X-Hook-Secret", "{{header.x-hook-secret}}"]] });
  const headers = { "x-a": "{{id}}", "x-hook-secret": "s" };
  const first = await ask("?name=Zo%C3%AB", '{"items":[{"id":7}]}', headers);
  equal(first.text, "1 POST Zoë {{id}} 7");
  equal(first.response.headers.get("x-hook-secret"), "s");
  const json = await configure(area, {
    body: '{"name":"{{form.name}}"}',
    template: true,
    headers: [["Content-Type", "application/json"]],
  });
  const form = { "content-type": "application/x-www-form-urlencoded" };
  deepEqual(JSON.parse((await json("", "name=%22%5C%0A%22", form)).text), { name: '"\\\n"' });
  const literal = await configure(area, { body: "{{id}}" });
  equal((await literal("")).text, "{{id}}");
  const huge = await configure(area, { body: "{{query.x}}".repeat(5000), template: true });
  equal((await huge(`?x=${"y".repeat(8000)}`)).text.length < 300_000, true);
});
