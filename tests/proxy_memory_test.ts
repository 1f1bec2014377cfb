import { equal, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { startTestUpstream } from "./proxy_kit.ts";

const GIB = 2 ** 30;
const CHUNK = new Uint8Array(256 * 1024).map((_, i) => i * 31);
const MAX_RSS_MB = 200;
/** Digest of 1 GiB of {@link CHUNK}s, made once: it takes as long as the transfers. */
const DIGEST = (() => {
  const hash = createHash("sha256");
  for (let sent = 0; sent < GIB; sent += CHUNK.length) hash.update(CHUNK);
  return hash.digest("hex");
})();

function createGibibyte(prefix: Uint8Array = new Uint8Array()): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream<Uint8Array>({
    start: (controller) => prefix.length > 0 ? controller.enqueue(prefix) : undefined,
    pull(controller) {
      controller.enqueue(CHUNK.slice());
      if ((sent += CHUNK.length) === GIB) controller.close();
    },
  }, { highWaterMark: 0 });
}

async function digest(body: ReadableStream<Uint8Array> | null, length: number): Promise<string> {
  const hash = createHash("sha256");
  let left = length;
  for await (const chunk of body ?? []) {
    hash.update(chunk.subarray(0, Math.max(0, left)));
    left -= chunk.length;
  }
  return hash.digest("hex");
}

/** `portway proxy` as a process of its own, whose memory can be told from the test's. */
async function withProcess(test: (url: string, peakMb: () => number) => Promise<void>): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "cli.ts", "proxy", "--port", "0", "--json", "--proxy-allow", "127.0.0.1"],
    cwd: new URL("..", import.meta.url),
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const { value } = await reader.read();
    const { port } = JSON.parse(value ?? "");
    const peakMb = () =>
      Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024;
    await test(`http://127.0.0.1:${port}`, peakMb);
  } finally {
    child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
  }
}

// Heavy: about 5 s on an idle machine.
Deno.test("proxy streams 1 GiB down and a form of 1 GiB up in less than 200 MB of memory, byte for byte", async () => {
  const head = new TextEncoder().encode(
    '--b\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\nContent-Type: application/x-own\r\n\r\n',
  );
  await using upstream = startTestUpstream(async (request) => {
    if (request.method === "GET") return new Response(createGibibyte());
    const reader = request.body!;
    let skipped = 0;
    const content = reader.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          const skip = Math.min(chunk.length, head.length - skipped);
          skipped += skip;
          controller.enqueue(chunk.subarray(skip));
        },
      }),
    );
    return new Response(await digest(content, GIB));
  });
  await withProcess(async (url, peakMb) => {
    const down = await fetch(`${url}/proxy/request`, {
      method: "POST",
      body: JSON.stringify({ url: upstream.url, stream: true }),
    });
    equal(await digest(down.body, Infinity), DIGEST);
    ok(peakMb() < MAX_RSS_MB, `${peakMb()} MB after the download`);

    const description = JSON.stringify({ url: upstream.url, timeoutMs: 60_000 });
    const describing = `--b\r\nContent-Disposition: form-data; name="request"\r\n\r\n${description}\r\n`;
    const prefix = new Uint8Array([...new TextEncoder().encode(describing), ...head]);
    const up = await fetch(`${url}/proxy/form`, {
      method: "POST",
      headers: { "content-type": "multipart/form-data; boundary=b" },
      body: createGibibyte(prefix),
    });
    const answer = await up.json();
    equal(answer.body, DIGEST, JSON.stringify(answer));
    ok(peakMb() < MAX_RSS_MB, `${peakMb()} MB after the upload`);
  });
});

Deno.test("proxy passes 1 GiB each way at /proxy/fetch in less than 200 MB of memory, byte for byte", async () => {
  await using upstream = startTestUpstream(async (request) =>
    request.method === "GET" ? new Response(createGibibyte()) : new Response(await digest(request.body, Infinity))
  );
  await withProcess(async (url, peakMb) => {
    const there = `${url}/proxy/fetch/${upstream.url}/`;
    equal(await digest((await fetch(there)).body, Infinity), DIGEST);
    ok(peakMb() < MAX_RSS_MB, `${peakMb()} MB after the download`);
    equal(await (await fetch(there, { method: "PUT", body: createGibibyte() })).text(), DIGEST);
    ok(peakMb() < MAX_RSS_MB, `${peakMb()} MB after the upload`);
  });
});
