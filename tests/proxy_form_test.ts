import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestProxy, startTestUpstream } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1" };

/** Lists the parts of a form in their order. */
async function listParts(request: Request): Promise<Response> {
  const parts: unknown[] = [];
  const length = request.headers.get("content-length");
  const form = await request.formData().catch(() => null);
  if (form === null) return new Response("the form broke off", { status: 400 });
  for (const [name, value] of form) {
    parts.push(typeof value === "string" ? [name, value] : [name, value.name, value.type, await value.text()]);
  }
  return Response.json({ method: request.method, length, own: request.headers.get("x-own"), parts });
}

async function send(url: string, form: FormData | URLSearchParams): Promise<Response> {
  return await fetch(`${url}/proxy/form`, { method: "POST", body: form });
}

async function code(response: Response): Promise<string> {
  await response.body?.cancel();
  return `${response.status} ${response.headers.get("portway-error")}`;
}

for (const files of ["", "docs"]) {
  const kind = files === "" ? "as it is" : "with references looked for";
  Deno.test(`proxy sends a form on ${kind}: fields and files in order, with names and types`, async () => {
    await using upstream = startTestUpstream(listParts);
    await using proxy = await startTestProxy({ ...ALLOW, proxyFiles: files });
    const form = new FormData();
    form.append(
      "request",
      JSON.stringify({ url: upstream.url, method: "PUT", headers: { "X-Own": "1", "Content-Type": "no" } }),
    );
    form.append("a", "1");
    form.append("file", new File(["one\r\n--not a boundary\r\n"], "q'uote ü.bin", { type: "application/x-own" }));
    form.append("a", "zwei ü");
    form.append("file", new File([], "empty.txt", { type: "text/plain" }));
    form.append("big", "x".repeat(200_000));
    const answer = await (await send(proxy.url, form)).json();
    equal(answer.status, 200, answer.body);
    const { method, length, own, parts } = JSON.parse(answer.body);
    deepEqual([method, own], ["PUT", "1"]);
    equal(length !== null, files === "", "the length is known when nothing is rewritten");
    deepEqual(parts, [
      ["a", "1"],
      ["file", "q'uote ü.bin", "application/x-own", "one\r\n--not a boundary\r\n"],
      ["a", "zwei ü"],
      ["file", "empty.txt", "text/plain", ""],
      ["big", "x".repeat(200_000)],
    ]);
  });
}

Deno.test("proxy takes a description that is a file part of JSON, and answers streamed when told so", async () => {
  await using upstream = startTestUpstream(listParts);
  await using proxy = await startTestProxy(ALLOW);
  const form = new FormData();
  form.append("request", new Blob([JSON.stringify({ url: upstream.url, stream: true })], { type: "application/json" }));
  form.append("a", "1");
  const response = await send(proxy.url, form);
  equal(response.headers.get("portway-status"), "200");
  deepEqual((await response.json()).parts, [["a", "1"]]);
});

Deno.test("proxy sends an urlencoded form on without the field that describes the request", async () => {
  await using upstream = startTestUpstream(async (request) =>
    new Response(`${request.headers.get("content-type")} ${await request.text()}`)
  );
  await using proxy = await startTestProxy(ALLOW);
  const form = new URLSearchParams([["a", "1 2"], ["request", JSON.stringify({ url: upstream.url })], ["a", "ü&"]]);
  const answer = await (await send(proxy.url, form)).json();
  equal(answer.body, "application/x-www-form-urlencoded a=1+2&a=%C3%BC%26");
});

Deno.test("proxy sends the other fields of an urlencoded form on byte for byte", async () => {
  await using upstream = startTestUpstream(async (request) => new Response(await request.text()));
  await using proxy = await startTestProxy(ALLOW);
  const describing = encodeURIComponent(JSON.stringify({ url: upstream.url }));
  for (
    const [before, after] of [["bad=%FF&a=%e9+%20", "&&=&b&c=1=2"], ["", "a=1"], ["a=%FC", ""], ["", ""], ["a", "a"]]
  ) {
    const body = [before, `request=${describing}`, after].filter((text) => text !== "").join("&");
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await (await fetch(`${proxy.url}/proxy/form`, { method: "POST", headers, body })).json();
    equal(answer.body, [before, after].filter((text) => text !== "").join("&"));
  }
});

Deno.test("proxy takes a form with something before its first boundary", async () => {
  await using upstream = startTestUpstream(listParts);
  await using proxy = await startTestProxy(ALLOW);
  for (const preamble of ["\r\n", "for readers without\r\nforms\r\n"]) {
    const response = await fetch(`${proxy.url}/proxy/form`, {
      method: "POST",
      headers: { "content-type": "multipart/form-data; boundary=b" },
      body: `${preamble}--b\r\nContent-Disposition: form-data; name="request"\r\n\r\n{"url":"${upstream.url}"}\r\n` +
        '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n',
    });
    const answer = await response.json();
    deepEqual(JSON.parse(answer.body).parts, [["a", "1"]]);
  }
});

Deno.test("proxy says what is wrong with a form, and asks no upstream", async () => {
  await using upstream = startTestUpstream(() => new Response());
  await using proxy = await startTestProxy({
    ...ALLOW,
    proxyMaxUploadBytes: "100000",
    proxyMaxBytes: "1024",
  });
  const describing = JSON.stringify({ url: upstream.url });
  const late = new FormData();
  late.append("a", "1");
  late.append("request", describing);
  equal(await code(await send(proxy.url, late)), "400 description_not_first");
  equal(await code(await send(proxy.url, new URLSearchParams({ a: "1" }))), "400 description_missing");
  equal(await code(await send(proxy.url, new URLSearchParams({ request: "{" }))), "400 json_invalid");
  equal(await code(await send(proxy.url, new URLSearchParams({ request: '{"url":1}' }))), "400 description_invalid");
  const body = new FormData();
  body.append("request", JSON.stringify({ url: upstream.url, body: "x" }));
  equal(await code(await send(proxy.url, body)), "400 description_invalid");
  const large = new FormData();
  large.append("request", JSON.stringify({ url: upstream.url, headers: { a: "x".repeat(2000) } }));
  large.append("b", "y".repeat(2000));
  equal(await code(await send(proxy.url, large)), "413 description_too_large");
  const raw = async (text: string, type = "multipart/form-data; boundary=b") =>
    await code(
      await fetch(`${proxy.url}/proxy/form`, { method: "POST", headers: { "content-type": type }, body: text }),
    );
  equal(await raw("--b\r\nContent-Disposition: form-data; name=request\r\n\r\n{}"), "400 form_invalid");
  equal(await raw("garbage without any boundary"), "400 form_invalid");
  equal(await raw(`--x\r\n\r\n\r\n--b--`), "400 form_invalid");
  equal(await raw("x", "text/plain"), "415 form_expected");
  equal(await raw("x", "multipart/form-data"), "415 form_expected");
  equal(await code(await fetch(`${proxy.url}/proxy/form`)), "405 method_not_allowed");
  equal(upstream.requests.length, 0);
});

Deno.test("proxy cuts an upload that grows beyond its limit without announcing it", async () => {
  await using upstream = startTestUpstream(async (request) => {
    await request.body?.pipeTo(new WritableStream()).catch(() => {});
    return new Response("taken");
  });
  await using proxy = await startTestProxy({ ...ALLOW, proxyMaxUploadBytes: "100000" });
  const describing = JSON.stringify({ url: upstream.url });
  const head = `--b\r\nContent-Disposition: form-data; name="request"\r\n\r\n${describing}\r\n--b\r\n` +
    'Content-Disposition: form-data; name="f"; filename="f"\r\n\r\n';
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(sent === 0 ? new TextEncoder().encode(head) : new Uint8Array(10_000));
      if (++sent === 1000) controller.close();
    },
  });
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  // A client that is still sending when the connection is closed may miss the answer.
  const answered = await fetch(`${proxy.url}/proxy/form`, { method: "POST", headers, body }).then(code, () => "cut");
  match(answered, /^(413 body_too_large|cut)$/);
  ok(sent < 1000);
});

Deno.test("proxy lets an upload take its time while it moves, and ends one that does not", async () => {
  await using upstream = startTestUpstream(async (request) => {
    await request.body?.pipeTo(new WritableStream()).catch(() => {});
    return new Response("taken");
  });
  await using proxy = await startTestProxy({ ...ALLOW, proxyTimeoutSeconds: "1" });
  const upload = async (pieces: number, isFinished: boolean) => {
    const body = new ReadableStream<string>({
      async start(controller) {
        controller.enqueue(
          '--b\r\nContent-Disposition: form-data; name="request"\r\n\r\n' +
            `{"url":"${upstream.url}","timeoutMs":500}\r\n--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n`,
        );
        // Time is what this is about.
        for (let i = 0; i < pieces; i++) {
          await new Promise((resolve) => setTimeout(resolve, 30));
          controller.enqueue("x");
        }
        if (!isFinished) return;
        controller.enqueue("\r\n--b--\r\n");
        controller.close();
      },
    }).pipeThrough(new TextEncoderStream());
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    const response = await fetch(`${proxy.url}/proxy/form`, { method: "POST", headers, body });
    return response.status === 200 ? (await response.json()).body : await code(response);
  };
  equal(await upload(25, true), "taken");
  equal(await upload(1, false), "504 upstream_timeout");
});

Deno.test("proxy does not repeat an upload for a redirect, but follows one that asks for GET", async () => {
  await using upstream = startTestUpstream(async (request) => {
    await request.body?.pipeTo(new WritableStream());
    const status = Number(new URL(request.url).pathname.slice(1));
    if (!status) return new Response(`${request.method} ${request.headers.get("content-type")}`);
    return new Response(null, { status, headers: { location: "/" } });
  });
  await using proxy = await startTestProxy(ALLOW);
  const form = (status: number) => {
    const one = new FormData();
    one.append("request", JSON.stringify({ url: `${upstream.url}/${status}` }));
    one.append("a", "1");
    return one;
  };
  equal(await code(await send(proxy.url, form(307))), "502 redirect_not_repeatable");
  equal((await (await send(proxy.url, form(303))).json()).body, "GET null");
});

Deno.test("proxy puts local files into a form where a field names one, and none from outside", async () => {
  const folder = await mkdtemp(join(tmpdir(), "portway-"));
  try {
    await Deno.mkdir(join(folder, "files", "sub"), { recursive: true });
    await writeFile(join(folder, "files", "sub", "a.json"), "[1]");
    await writeFile(join(folder, "files", ".hidden"), "secret");
    await writeFile(join(folder, "outside.txt"), "secret");
    await symlink(join(folder, "outside.txt"), join(folder, "files", "link.txt"));
    await using upstream = startTestUpstream(listParts);
    await using proxy = await startTestProxy({ ...ALLOW, proxyFiles: join(folder, "files") });
    const ask = async (reference: string) => {
      const form = new FormData();
      form.append("request", JSON.stringify({ url: upstream.url }));
      form.append("before", "1");
      form.append("f", reference);
      form.append("after", "2");
      return await send(proxy.url, form);
    };
    const answer = await (await ask("file:sub/a.json")).json();
    deepEqual(JSON.parse(answer.body).parts, [["before", "1"], ["f", "a.json", "application/json", "[1]"], [
      "after",
      "2",
    ]]);
    for (
      const path of [
        "../outside.txt",
        "link.txt",
        ".hidden",
        "sub",
        "none",
        "/etc/passwd",
        "sub/../../outside.txt",
        "..\\outside.txt",
      ]
    ) {
      equal(await code(await ask(`file:${path}`)), "400 file_not_found", path);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("proxy passes file: values on as text when it was given no folder", async () => {
  await using upstream = startTestUpstream(listParts);
  await using proxy = await startTestProxy(ALLOW);
  const form = new FormData();
  form.append("request", JSON.stringify({ url: upstream.url }));
  form.append("f", "file:deno.json");
  const answer = await (await send(proxy.url, form)).json();
  deepEqual(JSON.parse(answer.body).parts, [["f", "file:deno.json"]]);
});
