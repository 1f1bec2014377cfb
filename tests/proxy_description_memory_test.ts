import { deepEqual, equal } from "node:assert/strict";
import { startTestProxy, startTestUpstream, type TestProxy } from "./proxy_kit.ts";

const LIMIT = 1_000_000;
const FLAGS = { proxyAllow: "127.0.0.1", proxyMaxBytes: String(LIMIT) };

/** Sends most of a description, and leaves it at that until it is aborted. */
function sendUnfinished(proxy: TestProxy, path: string, signal: AbortSignal): Promise<string> {
  const head = path === "form" ? '--b\r\nContent-Disposition: form-data; name="request"\r\n\r\n' : "";
  const body = new ReadableStream<string>({
    start: (controller) => controller.enqueue(`${head}{"url": "${" ".repeat(LIMIT * 0.9)}`),
  }).pipeThrough(new TextEncoderStream());
  const headers = { "content-type": path === "form" ? "multipart/form-data; boundary=b" : "application/json" };
  return fetch(`${proxy.url}/proxy/${path}`, { method: "POST", headers, body, signal })
    .then((response) => `${response.status} ${response.headers.get("portway-error")}`, () => "aborted");
}

for (const path of ["request", "form"]) {
  Deno.test(`proxy holds a bounded number of unfinished descriptions of /proxy/${path} in memory`, async () => {
    await using upstream = startTestUpstream(() => new Response("small"));
    await using proxy = await startTestProxy(FLAGS);
    const leaving = new AbortController();
    const sent = [1, 2, 3, 4, 5].map(() => sendUnfinished(proxy, path, leaving.signal));
    equal(await Promise.race(sent), "503 busy");
    // Small ones are not concerned.
    equal((await (await proxy.request({ url: upstream.url })).json()).body, "small");
    leaving.abort();
    equal((await Promise.all(sent)).filter((result) => result === "aborted").length, 4);
    // What those had held is there for others again.
    const large = { url: upstream.url, body: "x".repeat(LIMIT * 0.9) };
    let answer = await proxy.request(large);
    while (answer.status === 503) {
      await answer.body?.cancel();
      answer = await proxy.request(large);
    }
    equal((await answer.json()).status, 200);
  });
}

Deno.test("proxy gives a description up that stalls", async () => {
  await using proxy = await startTestProxy({ ...FLAGS, proxyTimeoutSeconds: "1" });
  const { signal } = new AbortController();
  const sent = ["request", "form"].map((path) => sendUnfinished(proxy, path, signal));
  deepEqual(await Promise.all(sent), ["408 request_timeout", "408 request_timeout"]);
});

Deno.test("proxy refuses a wrong token before it reads a description", async () => {
  await using proxy = await startTestProxy({ ...FLAGS, proxyToken: "right" });
  const headers = { authorization: "Bearer wrong", "content-type": "multipart/form-data; boundary=b" };
  const endless = () =>
    new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(9)) });
  for (const path of ["request", "form"]) {
    const response = await fetch(`${proxy.url}/proxy/${path}`, { method: "POST", headers, body: endless() });
    equal(`${response.status} ${response.headers.get("portway-error")}`, "401 token_wrong");
    await response.body?.cancel();
  }
});
