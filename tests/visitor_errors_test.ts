/** What a visitor gets when a tunnel cannot work, and the limits of what a visitor may take. */
import assert from "node:assert/strict";
import { openRaw, startRecorder, startServer, startSite, startTunnel, toBytes, visit, type Visited } from "./kit.ts";

interface Expected {
  status: number;
  code: string;
  retryAfter?: boolean;
}

/** The same error as a page for a browser and as JSON for everyone else. */
async function assertError(open: (accept: string) => Promise<Visited>, { status, code, retryAfter }: Expected) {
  const page = await open("text/html,application/xhtml+xml,*/*;q=0.8");
  assert.deepEqual([page.status, page.headers["portway-error"]], [status, code]);
  assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
  assert.match(String(page.headers["content-security-policy"]), /sandbox/);
  assert.match(await page.text(), /<!doctype html>/i);
  const json = await open("*/*");
  assert.deepEqual([json.status, json.headers["portway-error"]], [status, code]);
  assert.equal(json.headers["content-type"], "application/json");
  const { error } = await json.json() as { error: { code: string; message: string } };
  assert.equal(error.code, code);
  assert(error.message.length > 10);
  if (retryAfter) assert(Number(json.headers["retry-after"]) > 0);
}

const visiting = (url: string) => (accept: string) => visit(url, { headers: { accept } });

Deno.test("a tunnel that does not exist answers 404, whatever the label", async () => {
  await using server = await startServer();
  for (const host of ["abcdefghjkmn2345", "a.b", "x", "-", "www.deep.er"]) {
    await assertError(visiting(`http://${host}.try.localhost:${server.port}/a?b`), {
      status: 404,
      code: "tunnel_not_found",
    });
  }
});

Deno.test("a tunnel whose client was stopped answers 503 with Retry-After", async () => {
  await using site = startSite();
  await using server = await startServer({ args: ["--hold-seconds", "0"] });
  await using tunnel = await startTunnel({ server, target: site });
  assert.equal((await tunnel.stop()).code, 0);
  await server.whenHealth(({ sessions }) => sessions === 0);
  await assertError(visiting(tunnel.url), { status: 503, code: "tunnel_offline", retryAfter: true });
});

/** Local services that fail, by what they do with a request. */
const FAILURES: [what: string, answer: string | null, code: string][] = [
  ["resets the connection", null, "service_broke_off"],
  ["speaks no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "service_not_http"],
  ["sends two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", "service_not_http"],
  ["folds a field", "HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 0\r\n\r\n", "service_not_http"],
  ["closes in the middle of a head", "HTTP/1.1 200 OK\r\nx: a", "service_broke_off"],
];

/** Responses that cannot be passed on, and the reason that the visitor reads. */
const REASONS: [response: string, reason: RegExp][] = [
  ["HTTP/1.1 600 X\r\ncontent-length: 0\r\n\r\n", /status 600 is not within 100 to 599/i],
  ["HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n", /status 999 is not within 100 to 599/i],
  ["HTTP/1.1 200 OK\ncontent-length: 0\n\n", /a bare LF/i],
  [`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(300)}\r\n`, /more than 256 fields/i],
  ["HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nhi", /the length "2, 2"/i],
  ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nhi", /two Content-Length/i],
  ["\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\0\0\xff\xff\0\x05\0\0\x40\0", /speaks HTTP\/2 only/i],
];

Deno.test("a response that cannot be passed on gives 502 with its real reason", async () => {
  let response = "";
  await using recorder = await startRecorder({ answer: (_, socket) => (socket.end(toBytes(response)), null) });
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: recorder });
  for (const [sent, reason] of REASONS) {
    response = sent;
    const refused = await visit(tunnel.url);
    const { error } = await refused.json() as { error: { code: string; message: string; details: string } };
    assert.deepEqual([refused.status, error.code], [502, "service_not_http"]);
    assert.match(error.details, reason);
    assert.doesNotMatch(error.message, /does not speak HTTP/);
  }
  response = "HTTP/1.1 200 OK\r\nContent-Length : 2\r\nX-A\t: b\r\n\r\nhi";
  const passed = await visit(tunnel.url);
  assert.deepEqual([passed.status, passed.headers["x-a"], await passed.text()], [200, "b", "hi"]);
});

for (const [what, answer, code] of FAILURES) {
  Deno.test(`a local service that ${what} gives 502`, async () => {
    await using recorder = await startRecorder({
      answer(_, socket) {
        if (answer === null) socket.resetAndDestroy();
        else socket.end(answer);
        return null;
      },
    });
    await using server = await startServer();
    await using tunnel = await startTunnel({ server, target: recorder });
    await assertError(visiting(tunnel.url), { status: 502, code });
    assert.equal((await visit(tunnel.url, { method: "POST", body: "x" })).status, 502);
  });
}

Deno.test("a local service that is not there gives 502, is told once, and works when it comes up", async () => {
  await using server = await startServer();
  // A port that was free a moment ago.
  const probe = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = probe.addr;
  probe.close();
  await using tunnel = await startTunnel({ server, target: port });
  for (let i = 0; i < 3; i++) {
    await assertError(visiting(tunnel.url), { status: 502, code: "service_unreachable" });
  }
  await using site = startSite({ port });
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  assert.equal(site.port, port);
  await tunnel.events.waitFor("note", ({ text }) => /responds now/.test(String(text)));
  const notes = tunnel.events.all().filter(({ event, text }) => event === "note" && /502/.test(String(text)));
  assert.equal(notes.length, 1, JSON.stringify(notes));
});

for (const hostname of ["127.0.0.1", "::1"]) {
  Deno.test(`a local service that listens on ${hostname} alone is localhost too`, async () => {
    await using site = startSite({ hostname });
    await using server = await startServer();
    await using tunnel = await startTunnel({ server, target: site });
    assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  });
}

for (
  const [args, expected] of [
    [["--host-header", "dev.example:8080"], () => "dev.example:8080"],
    [["--host-header", "public"], (url: string) => new URL(url).host],
  ] as const
) {
  Deno.test(`the local service sees the Host that ${args.join(" ")} asks for`, async () => {
    await using recorder = await startRecorder();
    await using server = await startServer();
    await using tunnel = await startTunnel({ server, target: recorder, args: [...args] });
    assert.equal((await visit(tunnel.url)).status, 200);
    const hosts = recorder.requests[0].fields.filter(([name]) => name.toLowerCase() === "host");
    assert.deepEqual(hosts.map(([, value]) => value), [expected(tunnel.url)]);
  });
}

for (const listener of ["edge", "deno"]) {
  Deno.test(`limits of the relay have answers of their own (listener ${listener})`, async (t) => {
    await using site = startSite();
    await using server = await startServer({
      args: [
        ...["--listener", listener, "--max-head-bytes", "2048", "--max-streams", "3"],
        ...["--max-sessions-per-address", "2", "--stream-idle-seconds", "1"],
      ],
    });
    await using tunnel = await startTunnel({ server, target: site });

    await t.step("a head that is too large: 431, and the connection to the service is fine", async () => {
      await assertError(
        (accept) => visit(`${tunnel.url}/text`, { headers: { accept, "x-long": "a".repeat(3000) } }),
        { status: 431, code: "head_too_large" },
      );
      await assertError(visiting(`${tunnel.url}/${"a".repeat(3000)}`), { status: 431, code: "head_too_large" });
      assert.equal((await visit(`${tunnel.url}/text`)).status, 200);
    });

    await t.step("a head far above all limits is refused and nothing of it reaches the service", async () => {
      const host = new URL(tunnel.url).host;
      await using raw = await openRaw(server.port);
      raw.write(`GET /huge HTTP/1.1\r\nHost: ${host}\r\nx: ${"a".repeat(200_000)}\r\n\r\n`);
      // An early close can destroy the response on its way. Deno's own server sends 400 or 431, depending on its reads.
      const refused = listener === "edge" ? /^(HTTP\/1.1 431 |$)/ : /^(HTTP\/1.1 4(?:00|31) |$)/;
      assert.match(await raw.readToEnd(), refused);
      assert(!site.log.text.includes("/huge"));
    });

    await t.step("more requests at a time than a session may carry: 503 with Retry-After", async () => {
      const streams = await Promise.all([1, 2, 3].map(() => visit(`${tunnel.url}/events`)));
      await assertError(visiting(`${tunnel.url}/text`), {
        status: 503,
        code: "too_many_requests_at_a_time",
        retryAfter: true,
      });
      for (const stream of streams) stream.leave();
      await server.whenHealth((health) => health.streams === 0);
      assert.equal((await visit(`${tunnel.url}/text`)).status, 200);
    });

    await t.step("a request on which nothing moves: 504; an answer that stops is cut", async () => {
      await assertError(visiting(`${tunnel.url}/hold`), { status: 504, code: "service_timeout" });
      const stream = await visit(`${tunnel.url}/events`);
      await assert.rejects(stream.bytes());
      await server.whenHealth((health) => health.streams === 0);
    });

    await t.step("idle time is not total time", async () => {
      const turns = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
      const writer = turns.writable.getWriter();
      const first = writer.write(new Uint8Array([0]));
      const answer = await visit(`${tunnel.url}/echo`, { body: turns.readable });
      await first;
      const pieces = answer.body[Symbol.asyncIterator]();
      for (let turn = 0; turn < 6; turn++) {
        assert.equal((await pieces.next()).value?.length, 1);
        // Time is what this is about: six times half of the limit.
        await new Promise((resolve) => setTimeout(resolve, 500));
        await writer.write(new Uint8Array([turn]));
      }
      await writer.close();
    });

    await t.step("more sessions than an address may hold: the client says so", async () => {
      await using second = await startTunnel({ server, target: site });
      await assert.rejects(startTunnel({ server, target: site }), /too many sessions/);
      assert.equal((await second.stop()).code, 0);
      await server.whenHealth(({ sessions }) => sessions === 1);
      await using third = await startTunnel({ server, target: site });
      assert.equal(await (await visit(`${third.url}/text`)).text(), "hello");
    });
  });
}

Deno.test("a visitor's connection survives errors of ours", async () => {
  await using server = await startServer();
  await using raw = await openRaw(server.port);
  for (let i = 0; i < 3; i++) {
    raw.write(`GET / HTTP/1.1\r\nHost: nobody.try.localhost:${server.port}\r\n\r\n`);
    assert.equal((await raw.read()).status, 404);
  }
});
