/** Visitors of HTTP/2 through a real tunnel: curl, and Chromium. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  openBrowser,
  type Server,
  startServer,
  startSite,
  startSocketService,
  startTunnel,
  visit,
  within,
} from "./kit.ts";

const testdata = new URL("../net/connection/testdata/", import.meta.url);
const file = (name: string) => new URL(name, testdata).pathname;
const TLS = ["--tls-cert", file("leaf.pem"), "--tls-key", file("leaf.key")];
const TRUST = ["--ca-certs", file("ca.pem")];
const UPLOAD_BYTES = 20_000_000;
/** What is taken of an upload that nobody wants: beyond it the stream is reset, which curl before 8 may take for a failure. */
const CURL_BYTES = 12_000_000;

/** A service that answers every upload before it has read it. */
async function startEarlyService() {
  const service = createServer((_, response) => response.writeHead(413, { "x-early": "1" }).end("too large"));
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  return {
    port: (service.address() as AddressInfo).port,
    [Symbol.asyncDispose]() {
      service.closeAllConnections();
      return new Promise<void>((resolve) => service.close(() => resolve()));
    },
  };
}

/** Resolves once the server carries no request any more. */
async function whenQuiet(server: Server): Promise<void> {
  const ca = await Deno.readTextFile(file("ca.pem"));
  const poll = async () => {
    while ((await (await visit(`${server.url}/health`, { ca })).json() as { streams: number }).streams > 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await within("a server without requests", poll());
}

/** Of curl, for a stream that was reset. */
const STREAM_RESET = 92;
/**
 * `Deno.serve` gives an upload up with the end of its answer, and resets the stream: on a busy machine that is what curl
 * hears of first in one run of ten. It stands among what that listener cannot mend, in net/listener/deno.ts.
 */
const TRIES = { edge: 1, deno: 10 };

for (const listener of ["edge", "deno"] as const) {
  Deno.test(`HTTP/2 through a tunnel: an answer before the end of an upload reaches curl (listener ${listener})`, async () => {
    await using service = await startEarlyService();
    await using server = await startServer({ args: [...TLS, "--listener", listener] });
    await using tunnel = await startTunnel({ server, target: service, args: TRUST });
    const upload = `${server.dataDir}/upload`;
    await Deno.writeFile(upload, new Uint8Array(CURL_BYTES));
    for (const how of [["-T"], ["-X", "POST", "-H", "content-length:", "-T"], ["--data-binary"]]) {
      const path = how[0] === "--data-binary" ? `@${upload}` : upload;
      const curl = new Deno.Command("curl", { args: ["-sSki", "--http2", ...how, path, tunnel.url] });
      let { stdout, stderr, code } = await curl.output();
      for (let tries = 1; code === STREAM_RESET && tries < TRIES[listener]; tries++) {
        ({ stdout, stderr, code } = await curl.output());
      }
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      assert.match(new TextDecoder().decode(stdout), /^HTTP\/2 413 [^]*x-early: 1[^]*too large$/);
    }
    await whenQuiet(server);
  });
}

Deno.test("HTTP/2 through a tunnel: a visitor has no more requests at a time than they may have connections", async () => {
  const limit = 20;
  await using site = startSite();
  await using server = await startServer({ args: [...TLS, "--max-connections-per-address", String(limit)] });
  await using tunnel = await startTunnel({ server, target: site, args: TRUST });
  const { host, hostname, port } = new URL(tunnel.url);
  const resolve = `${hostname}:${port}:127.0.0.1`;
  const ask = async (paths: string) => {
    const { stdout } = await new Deno.Command("curl", {
      args: ["-sk", "--http2", "--no-progress-meter", "--parallel", "-o", "/dev/null"]
        .concat("-w", "%{http_version} %{http_code}\n")
        .concat("--resolve", resolve, `https://${host}/${paths}`),
    }).output();
    return new TextDecoder().decode(stdout).trimEnd().split("\n").map((line) => line.trim());
  };
  const held = ask(`hold?[1-${limit}]`);
  for (let count = 0; count < limit; count++) await site.log.waitFor("open /hold");
  const refused = await new Deno.Command("curl", { args: ["-ski", "--http2", "--resolve", resolve, tunnel.url] })
    .output();
  assert.match(new TextDecoder().decode(refused.stdout), /^HTTP\/2 429 [^]*portway-error: too_many_requests\r\n/);
  site.release();
  assert.deepEqual(await held, Array(limit).fill("2 200"));
  assert.deepEqual(await ask(""), ["2 200"]);
});

Deno.test("HTTP/2 in Chromium: a hundred requests at once, uploads, event streams and visitors who leave", async () => {
  await using early = await startEarlyService();
  await using site = startSite();
  await using server = await startServer({ args: TLS });
  await using tunnel = await startTunnel({ server, target: site, args: TRUST });
  await using refusing = await startTunnel({ server, target: early, args: TRUST });
  await using browser = await openBrowser();
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  await page.goto(tunnel.url);
  const version = () => performance.getEntriesByType("navigation")[0].toJSON().nextHopProtocol;
  assert.equal(await page.evaluate(version), "h2");

  const many = page.evaluate(async () => {
    const answers = Array.from({ length: 100 }, async (_, index) => await (await fetch(`/hold?${index}`)).text());
    return new Set(await Promise.all(answers)).size;
  });
  for (let index = 0; index < 100; index++) await site.log.waitFor("open /hold");
  site.release();
  assert.equal(await many, 1);

  const sizes = await page.evaluate(async (bytes) => {
    const upload = await fetch("/upload", { method: "POST", body: new Uint8Array(bytes) });
    const down = await fetch(`/noise?size=${bytes}`);
    return [(await upload.json()).size, (await down.arrayBuffer()).byteLength];
  }, UPLOAD_BYTES);
  assert.deepEqual(sizes, [UPLOAD_BYTES, UPLOAD_BYTES]);

  const events = page.evaluate(() =>
    new Promise((resolve) => {
      const seen: string[] = [];
      const source = new EventSource("/events");
      source.onmessage = ({ data }) => {
        seen.push(data);
        document.title = data;
        if (seen.length < 2) return;
        source.close();
        resolve(seen);
      };
    })
  );
  await page.waitForFunction(() => document.title === "first");
  site.release();
  assert.deepEqual(await events, ["first", "second"]);

  await page.evaluate(() => {
    const leaving = new AbortController();
    Object.assign(globalThis, { leaving });
    fetch("/hold?left", { signal: leaving.signal }).catch(() => {});
  });
  await site.log.waitFor("open /hold");
  await page.evaluate("leaving.abort()");
  await site.log.waitFor("gone /hold");

  await page.goto(refusing.url);
  const refused = await page.evaluate(async (bytes) => {
    const statuses: number[] = [];
    for (let round = 0; round < 3; round++) {
      statuses.push((await fetch("/", { method: "POST", body: new Uint8Array(bytes) })).status);
    }
    return statuses;
  }, UPLOAD_BYTES);
  assert.deepEqual(refused, [413, 413, 413]);
  await page.close();
  await whenQuiet(server);
});

Deno.test("HTTP/2 in Chromium: a WebSocket passes beside it", async () => {
  await using service = await startSocketService();
  await using server = await startServer({ args: TLS });
  await using tunnel = await startTunnel({ server, target: service, args: TRUST });
  await using browser = await openBrowser();
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  await page.goto(`${server.url}/health`);
  const echo = await page.evaluate((url) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${url.replace("https", "wss")}/ws`);
      socket.onopen = () => socket.send("beside HTTP/2");
      socket.onmessage = ({ data }) => resolve(data);
      socket.onerror = () => reject(new Error("the socket broke"));
    }), tunnel.url);
  assert.equal(echo, "beside HTTP/2");
});
