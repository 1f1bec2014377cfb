import { deepEqual, equal, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import process from "node:process";
import { openFolder, openNetwork, startLocal, startTunnel } from "./files_kit.ts";

const MIB = 1024 * 1024;

Deno.test("a share killed during 20 uploads leaves only whole files, and the next one cleans up", async () => {
  using folder = openFolder();
  const size = 4 * MIB;
  const contentOf = (index: number) => Buffer.alloc(size, String.fromCharCode(97 + index));
  const client = await startLocal("-fw", folder.path);
  const answers: number[] = [];
  const firstAnswer = Promise.withResolvers<void>();
  const uploads = Array.from({ length: 20 }, async (_, index) => {
    // The second half trickles in, so that it is under way for as long as the share lives.
    const status = await upload(`${client.url}${index}.bin`, contentOf(index), index >= 10);
    answers[index] = status;
    if (status !== 0) firstAnswer.resolve();
  });
  await firstAnswer.promise;
  await client.kill();
  await Promise.all(uploads);

  const names = fs.readdirSync(folder.path).filter((name) => !name.startsWith("."));
  for (const name of names) {
    ok(fs.readFileSync(path.join(folder.path, name)).equals(contentOf(Number.parseInt(name))), name);
  }
  answers.forEach((status, index) => {
    if (status === 201) ok(names.includes(`${index}.bin`), `${index} was acknowledged`);
  });
  ok(names.length < 20, "the share was killed too late to show anything");
  ok(fs.readdirSync(folder.path).some((name) => name.startsWith(".portway-uploads-")));
  await using _next = await startLocal("-fw", folder.path);
  deepEqual(fs.readdirSync(folder.path).filter((name) => name.startsWith(".")), []);
});

/** Sends a PUT; resolves with the status, 0 when the connection broke. */
function upload(url: string, content: Buffer, isSlow: boolean): Promise<number> {
  return new Promise((resolve) => {
    const request = http.request(url, { method: "PUT", headers: { "content-length": content.length } });
    request.on("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("error", () => resolve(0));
    if (isSlow) request.write(content.subarray(0, MIB));
    else request.end(content);
  });
}

/** Bytes that go up and down: 512 MiB, or what a soak asks for. */
const LARGE = Number(process.env.PORTWAY_SOAK_BYTES ?? 512 * MIB);
/** What the client may grow by while they pass. */
const MAX_GROWTH = 120 * MIB;

Deno.test(`${LARGE / MIB} MiB go up and down through a local share with memory flat`, async () => {
  using folder = openFolder();
  await using client = await startLocal("-fw", folder.path);
  const before = readPeak(client.pid);
  const piece = crypto.getRandomValues(new Uint8Array(65_536));
  const sent = createHash("sha256");
  const url = `${client.url}large.bin`;
  equal(
    await putGenerated(url, LARGE, () => {
      piece[0]++;
      sent.update(piece);
      return new Uint8Array(piece);
    }),
    201,
  );
  equal(fs.statSync(path.join(folder.path, "large.bin")).size, LARGE);
  const came = createHash("sha256");
  const [response]: http.IncomingMessage[] = await once(http.get(url), "response");
  for await (const chunk of response) came.update(chunk);
  equal(came.digest("hex"), sent.digest("hex"));
  const growth = readPeak(client.pid) - before;
  if (process.env.PORTWAY_SOAK_BYTES) process.stderr.write(`resident memory grew by ${Math.round(growth / MIB)} MiB\n`);
  ok(growth < MAX_GROWTH, `resident memory grew by ${growth / MIB} MiB`);
});

/** Sends what `generate` gives piece by piece, as fast as it is taken. */
async function putGenerated(url: string, length: number, generate: () => Uint8Array): Promise<number> {
  const request = http.request(url, { method: "PUT", headers: { "content-length": length } });
  const answered = once(request, "response");
  for (let left = length; left > 0;) {
    const piece = generate();
    left -= piece.length;
    if (!request.write(piece)) await once(request, "drain");
  }
  request.end();
  const [response]: http.IncomingMessage[] = await answered;
  response.resume();
  return response.statusCode ?? 0;
}

/** The most memory that a process has had, in bytes. */
function readPeak(pid: number): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

for (const [kind, start] of [["a local share", startLocal], ["a share behind a tunnel", startTunnel]] as const) {
  Deno.test(`an upload to ${kind} that a cut network broke off goes on where it stopped`, async () => {
    using folder = openFolder();
    await using client = await start("-fw", folder.path);
    await using network = await openNetwork(client.port);
    const content = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)));
    const total = content.length * 64;
    const { hostname, host } = new URL(client.url);
    const ask = (
      method: string,
      query: string,
      headers: http.OutgoingHttpHeaders,
      body?: (request: http.ClientRequest) => void,
    ) =>
      new Promise<http.IncomingMessage | null>((resolve) => {
        const options = {
          host: "127.0.0.1",
          port: network.port,
          path: `/up.bin${query}`,
          method,
          headers: { host, ...headers },
        };
        const request = http.request(options, (response) => {
          response.resume();
          resolve(response);
        });
        request.on("error", () => resolve(null));
        if (body === undefined) request.end();
        else body(request);
      });
    ok(hostname !== "");
    const broken = ask("PUT", "", { "content-length": total }, (request) => {
      for (let count = 0; count < 40; count++) request.write(content);
    });
    await network.whenSent(30 * content.length);
    network.cut();
    equal(await broken, null);
    network.mend();
    deepEqual(fs.readdirSync(folder.path).filter((name) => !name.startsWith(".")), []);

    const offset = await whenSteady(async () =>
      Number((await ask("HEAD", "?upload", {}))?.headers["upload-offset"] ?? NaN)
    );
    ok(offset > 0 && offset < total, String(offset));
    const whole = Buffer.concat(Array.from({ length: 64 }, () => content));
    const rest = whole.subarray(offset);
    const headers = { "content-range": `bytes ${offset}-${total - 1}/${total}`, "content-length": rest.length };
    equal((await ask("PUT", "", headers, (request) => request.end(rest)))?.statusCode, 201);
    ok(fs.readFileSync(path.join(folder.path, "up.bin")).equals(whole));
  });
}

/** Asks until the same number above zero comes twice: what was on its way has arrived by then. */
async function whenSteady(ask: () => Promise<number>): Promise<number> {
  for (let last = await ask();;) {
    const next = await ask();
    if (next === last && next > 0) return next;
    last = next;
  }
}
