import { deepEqual, equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestProxy, startTestUpstream, type TestProxy } from "./proxy_kit.ts";

const TYPE = "multipart/form-data; boundary=b";

/** Answers with the bytes of the request, their boundary written as `b`. */
async function echo(request: Request): Promise<Response> {
  const boundary = /boundary=(.*)/.exec(request.headers.get("content-type") ?? "")?.[1] ?? "";
  const bytes = Buffer.from(await request.arrayBuffer().catch(() => new ArrayBuffer(0))).toString("latin1");
  return new Response(Buffer.from(bytes.replaceAll(`--${boundary}`, "--b"), "latin1"));
}

/** Calls `run` with a proxy that has a folder of files. */
async function withFiles(
  flags: Record<string, string>,
  run: (proxy: TestProxy, upstreamUrl: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "portway-"));
  try {
    await writeFile(join(folder, "a.json"), "[1]\r\n--b\r\n");
    await using upstream = startTestUpstream(echo);
    await using proxy = await startTestProxy({ proxyAllow: "127.0.0.1", proxyFiles: folder, ...flags });
    await run(proxy, upstream.url);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function describing(url: string, more: Record<string, unknown> = {}): string {
  const description = JSON.stringify({ url, responseType: "base64", ...more });
  return `--b\r\nContent-Disposition: form-data; name="request"\r\n\r\n${description}\r\n`;
}

/** What the upstream gets of a form, in Latin-1. */
async function send(proxy: TestProxy, url: string, rest: string): Promise<string> {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const bytes = Buffer.from(describing(url) + rest, "latin1");
      for (let at = 0; at < bytes.length; at += 7) {
        await Promise.resolve(controller.enqueue(bytes.subarray(at, at + 7)));
      }
      controller.close();
    },
  });
  const response = await fetch(`${proxy.url}/proxy/form`, { method: "POST", headers: { "content-type": TYPE }, body });
  const answer = await response.json();
  equal(answer.status, 200, JSON.stringify(answer));
  return atob(answer.body);
}

Deno.test("proxy with a folder for files leaves every byte of other parts as it was", async () => {
  await withFiles({}, async (proxy, url) => {
    const parts = [
      'Content-Disposition: form-data; name="a"\r\n\r\n\xff\xfe\x80',
      'Content-Disposition: form-data; name="a"\r\nContent-Type: application/octet-stream\r\n\r\nno file',
      'content-disposition:form-data; name=f; filename="caf\xe9"\r\nContent-Type: text/html; charset=x; y="z"\r\n' +
      "X-Own: 1\r\n\r\n<>",
      'Content-Disposition: form-data; name="f"; filename=""\r\n\r\n',
      'Content-Disposition: form-data; name="f"; filename="f"\r\n\r\nfile:a.json',
      'Content-Disposition: form-data; name=""\r\n\r\n1',
      "Content-Disposition: attachment\r\n\r\n2",
      "X-Own: no disposition\r\n\r\nfile:a.json",
      "\r\nno head",
      "no end of a head",
      "",
      `Content-Disposition: form-data; name="long"\r\n\r\nfile:${"x".repeat(100_000)}`,
      `Content-Disposition: form-data; name="large"\r\n\r\n${"\r\n-".repeat(700_000)}`,
      'Content-Disposition: form-data; name="a"\r\n\r\nfil',
    ];
    const form = `${parts.map((part) => `--b\r\n${part}\r\n`).join("")}--b--\r\n`;
    equal(await send(proxy, url, form), form);
    const many = `${"--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n".repeat(1500)}--b--\r\n`;
    equal(await send(proxy, url, many), many);
  });
});

Deno.test("proxy puts a file where a field names one, and keeps what else its head says", async () => {
  await withFiles({}, async (proxy, url) => {
    const field = 'Content-Disposition: form-data; name="n\xe9";\r\nX-Own: 1\r\nContent-Type: text/plain\r\n\r\n';
    equal(
      await send(proxy, url, `--b\r\n${field}file:a.json\r\n--b--`),
      '--b\r\nContent-Disposition: form-data; name="n\xe9"; filename="a.json"\r\nX-Own: 1\r\n' +
        "Content-Type: application/json\r\n\r\n[1]\r\n--b\r\n\r\n--b--\r\n",
    );
  });
});

Deno.test("proxy with a folder for files says what is wrong with a form at once", async () => {
  await withFiles({ proxyMaxUploadBytes: "100000" }, async (proxy, url) => {
    const part = 'Content-Disposition: form-data; name="f"; filename="f"\r\n\r\n';
    const post = async (rest: string) => {
      const body = new ReadableStream<string>({
        pull(controller) {
          controller.enqueue(`${describing(url)}--b\r\n${part}${rest}`);
          // Only a form that is too large stays open: its error does not wait for its end.
          if (rest.length < 100_000) controller.close();
        },
      }, { highWaterMark: 0 }).pipeThrough(new TextEncoderStream());
      const init = { method: "POST", headers: { "content-type": TYPE }, body };
      const response = await fetch(`${proxy.url}/proxy/form`, init);
      await response.body?.cancel();
      return `${response.status} ${response.headers.get("portway-error")}`;
    };
    equal(await post("cut"), "400 form_invalid");
    match(await post("x".repeat(200_000)), /^413 body_too_large$/);
  });
});

for (const listener of ["edge", "deno"]) {
  Deno.test(`proxy on the ${listener} listener lets go of a form whose caller hangs up in the middle of a file`, async () => {
    const reached = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    await using upstream = startTestUpstream(async (request) => {
      reached.resolve();
      await request.body?.pipeTo(new WritableStream()).catch(() => {});
      ended.resolve();
      return new Response();
    });
    await withFiles({ proxyMaxRequests: "1", listener }, async (proxy, echoUrl) => {
      const { hostname, port } = new URL(proxy.url);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      socket.write(
        `POST /proxy/form HTTP/1.1\r\nHost: x\r\nContent-Type: ${TYPE}\r\nContent-Length: 90000000\r\n\r\n` +
          describing(upstream.url) +
          `--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n${"x".repeat(30_000)}`,
      );
      await reached.promise;
      socket.destroy();
      await ended.promise;
      const answer = await (await proxy.request({ url: echoUrl })).json();
      deepEqual(answer.status, 200, JSON.stringify(answer));
    });
  });
}
