/** HTTP/2 over TLS: the same tests for each listener and runtime. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { stdout } from "node:process";
import type { ListenerLimits } from "../../limits.ts";
import {
  ACK,
  block,
  END_HEADERS,
  END_STREAM,
  frame,
  headers,
  hello,
  Http2Visitor,
  PREFACE,
  request,
  Type,
} from "./_test_client.ts";
import { curl, node, type Runtime, startServer, type TestServer } from "./_test_program.ts";
import type { ListenerKind } from "../../types.ts";

/** A limit against hanging, far above the time of each test. */
const PATIENCE_MS = 60_000;
/** Under Node these tests have no Deno to start. */
const ON_DENO: readonly [ListenerKind, Runtime][] = "serve" in Deno ? [["edge", "deno"], ["deno", "deno"]] : [];
const SERVERS: readonly [kind: ListenerKind, runtime: Runtime][] = [...ON_DENO, ["edge", "node"]];
if (node === undefined) {
  stdout.write(
    `HTTP/2 on Node is left out: no Node 22.18 or later; PORTWAY_NODE="$(npx -y node@24 -p process.execPath)"\n`,
  );
}

type Run = (server: TestServer, kind: ListenerKind, runtime: Runtime) => Promise<void>;

function test(name: string, run: Run, limits: Partial<ListenerLimits> = {}, kinds: readonly ListenerKind[] = ["edge"]) {
  for (const [kind, runtime] of SERVERS) {
    if (!kinds.includes(kind)) continue;
    Deno.test({
      name: `HTTP/2, listener ${kind} on ${runtime}: ${name}`,
      ignore: runtime === "node" && node === undefined,
      async fn() {
        await using server = await startServer(runtime, kind, limits);
        let timer: ReturnType<typeof setTimeout> | undefined;
        const late = new Promise<never>((_, reject) => {
          timer = setTimeout(() => reject(new Error("the test did not end")), PATIENCE_MS);
        });
        await Promise.race([run(server, kind, runtime), late]).finally(() => clearTimeout(timer));
      },
    });
  }
}

const BOTH: readonly ListenerKind[] = ["edge", "deno"];

/** Opens a client that disconnects at the end of the block. */
async function visitor(server: TestServer, preface?: string | Uint8Array) {
  const opened = await Http2Visitor.open(server.port, preface);
  return Object.assign(opened, { [Symbol.dispose]: () => opened.close() });
}

/** Fields that differ between versions or seconds. */
const OF_THE_VERSION = /^(connection|keep-alive|transfer-encoding|date|vary):/;

test(
  "HTTP/2 and HTTP/1.1 clients get the same responses",
  async (server, kind) => {
    const requests: string[][] = [
      ["/"],
      ["-I", "/"],
      ["-I", "/sized"],
      ["-d", "a=1", "/echo"],
      ["-d", "", "/inspect"],
      // Deno's listener may reset the stream instead: see below.
      ...(kind === "edge" ? [["-X", "GET", "-d", "a=1", "/inspect"]] : []),
      ["-X", "DELETE", "/inspect"],
      ["-X", "OPTIONS", "/inspect"],
      ["-X", "PROPFIND", "-d", "<x/>", "/inspect"],
      ["/status/204"],
      // Deno cannot send it over HTTP/1.1.
      ...(kind === "edge" ? [["/status/205"]] : []),
      ["/status/304"],
      ["/status/404"],
      ["/status/500"],
      ["/cookies"],
      ["/bytes"],
      ["/sized"],
      ["/big?size=3000000"],
      ["/inspect?a=%2F&b=%zz"],
      ["-H", "cookie: a=1; b=2", "-H", "x-latin: caf\xe9", "-H", "x-b: 1", "-H", "x-b: 2", "/inspect"],
      ["/defect"],
    ];
    for (const args of requests) {
      const url = `https://127.0.0.1:${server.port}${args.at(-1)}`;
      const [one, two] = await Promise.all(["--http1.1", "--http2"].map(async (version) => {
        const { status, fields, body } = await curl([version, ...args.slice(0, -1), url]);
        const isMeant = (field: string) =>
          !OF_THE_VERSION.test(field) && !(OF_NO_LENGTH.test(args.at(-1) ?? "") && LENGTH.test(field));
        return { status, fields: fields.filter(isMeant).sort(), body: parse(body) };
      }));
      deepEqual(two, one, args.join(" "));
    }
  },
  {},
  BOTH,
);

test(
  "a GET with a body gets the HTTP/1.1 response, unless Deno's reset arrives first",
  async (server) => {
    const args = ["-X", "GET", "-d", "a=1", `https://127.0.0.1:${server.port}/inspect`];
    const one = await curl(["--http1.1", ...args]);
    for (let round = 0; round < 5; round++) {
      const two = await curl(["--http2", ...args]).catch((error: Error) =>
        void match(error.message, /\(92\) Stream error/)
      );
      if (two !== undefined) deepEqual([two.status, parse(two.body)], [one.status, parse(one.body)]);
    }
  },
  {},
  ["deno"],
);

const SEEN = `{"method"`;
/** Responses without a fixed length: joined fields change it, and an echo has one only if its body arrives at once. */
const OF_NO_LENGTH = /^\/(inspect|echo)/;
const LENGTH = /^content-length:/;

/** Sorts and joins fields, because Deno's listener changes their order and joins equal names. */
function parse(body: string): unknown {
  if (!body.startsWith(SEEN)) return body;
  const { headers, ...rest } = JSON.parse(body);
  const fields = new Headers();
  for (let at = 0; at < headers.length; at += 2) fields.append(headers[at], headers[at + 1]);
  return { ...rest, headers: [...fields] };
}

test("a GET without Content-Length has its body, or none", async (server) => {
  const url = `https://127.0.0.1:${server.port}/inspect`;
  for (const body of ["", "a", "a".repeat(300_000)]) {
    const answer = await curl(["--http2", "-X", "GET", "-T", "-", url], new TextEncoder().encode(body));
    const seen = JSON.parse(answer.body);
    deepEqual([seen.method, seen.hasBody, seen.body.length], ["GET", body !== "", body.length]);
  }
});

test("a GET has its body wherever its method is in the head", async (server) => {
  using client = await visitor(server);
  // Go's client sends the host first, literally and later as a dynamic table index.
  const hosts = [Buffer.of(0x41, 6, ...Buffer.from("a.test")), Buffer.of(0xbe)];
  const rest = Buffer.of(0x82, 0x04, 8, ...Buffer.from("/inspect"), 0x87);
  for (const [index, host] of hosts.entries()) {
    const stream = 2 * index + 1;
    client.send(
      frame(Type.headers, END_HEADERS, stream, Buffer.concat([host, rest, block([["content-length", "3"]])])),
    );
    client.send(frame(Type.data, END_STREAM, stream, Buffer.from("a=1")));
    const seen = JSON.parse(await client.body(stream));
    deepEqual([seen.method, seen.host, seen.body], ["GET", "a.test", "a=1"]);
  }
});

test(
  "a response to HEAD has no body, even for a rejected request",
  async (server) => {
    using client = await visitor(server);
    const many = Array.from({ length: 300 }, (_, index): [string, string] => [`x-${index}`, ""]);
    const heads = [request("HEAD", "/defect"), request("HEAD", "/", ...many), request("HEAD", "/missing")];
    for (const [index, head] of heads.entries()) {
      const stream = 2 * index + 1;
      client.send(headers(stream, head));
      equal(await client.body(stream), "", head.join(" ").slice(0, 60));
    }
    client.send(Buffer.concat([
      headers(7, request("HEAD", "/", ["content-length", "3"]), false),
      frame(Type.data, END_STREAM, 7, Buffer.from("a=1")),
    ]));
    equal(await client.body(7), "");
  },
  {},
  BOTH,
);

test(
  "a response before the end of an upload arrives",
  async (server) => {
    const upload = new Uint8Array(12_000_000);
    for (let round = 0; round < 5; round++) {
      const { status, body } = await curl(["--http2", "-T", "-", `https://127.0.0.1:${server.port}/early`], upload);
      deepEqual([status, body], [413, "no"]);
      const sized = ["--http2", "--data-binary", "@-", `https://127.0.0.1:${server.port}/early`];
      equal((await curl(sized, upload)).status, 413);
    }
    const { status, body } = await curl(["--http2", "-T", "-", `https://127.0.0.1:${server.port}/echo`], upload);
    deepEqual([status, body.length], [200, upload.length]);
  },
  {},
  BOTH,
);

test(
  "a hundred streams run at once",
  async (server) => {
    using many = await visitor(server);
    const streams = Array.from({ length: 100 }, (_, index) => 2 * index + 1);
    many.send(Buffer.concat(streams.map((stream) => headers(stream, request("GET", "/hold")))));
    await server.said("held /hold", 100);
    server.tell("release");
    for (const stream of streams) equal(await many.body(stream), "held");
    equal((await server.stats()).held, 0);
  },
  {},
  BOTH,
);

test(
  "parts of a response arrive when they are sent",
  async (server) => {
    using reader = await visitor(server);
    reader.send(headers(1, request("GET", "/events")));
    await reader.until(({ type, payload }) => type === Type.data && payload.includes("data: 1"));
    server.tell("release");
    equal(await reader.body(1), "data: 1\n\ndata: 2\n\n");
  },
  {},
  BOTH,
);

test(
  "cookie fields are joined, a raw UTF-8 path keeps its bytes, and a body needs no length",
  async (server) => {
    using sender = await visitor(server);
    const path = "/inspect/caf\xc3\xa9?q=\xe2\x82\xac%zz";
    sender.send(headers(1, request("GET", path.replace("/caf", "?caf"), ["cookie", "a=1"], ["cookie", "b=2"])));
    const seen = JSON.parse(Buffer.from(await sender.body(1), "latin1").toString());
    equal(seen.target, path.replace("/caf", "?caf"));
    equal(new Headers(pairs(seen.headers)).get("cookie"), "a=1; b=2");
    sender.send(headers(3, request("POST", "/inspect", ["host", "a.test"]), false));
    sender.send(frame(Type.data, END_STREAM, 3, Buffer.from("hello")));
    const posted = JSON.parse(await sender.body(3));
    deepEqual([posted.host, posted.hasBody, posted.body], ["a.test", true, "hello"]);
    sender.send(headers(5, request("GET", "/inspect", ["host", "b.test"])));
    ok(!(await sender.body(5)).includes(`"method"`));
  },
  {},
  BOTH,
);

function pairs(list: string[]): [string, string][] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index], list[2 * index + 1]]);
}

test(
  "a reset or a disconnect is noticed before the response",
  async (server) => {
    using one = await visitor(server);
    one.send(headers(1, request("GET", "/hold?reset")));
    await server.said("held /hold?reset");
    one.send(frame(Type.rstStream, 0, 1, Buffer.from([0, 0, 0, 8])));
    await server.said("left /hold?reset");
    one.send(headers(3, request("GET", "/hold?gone")));
    await server.said("held /hold?gone");
    one.close();
    await server.said("left /hold?gone");
    await server.whenStats(({ held }) => held === 0);
  },
  {},
  BOTH,
);

/** Returns the counters of an idle server that has had one client. */
async function quietStats(server: TestServer) {
  await curl(["--http2", `https://127.0.0.1:${server.port}/`]);
  await server.whenStats(({ connections }) => connections === 1);
  return await server.stats();
}

const REFUSED = Buffer.from([0, 0, 0, 7]);

test("streams that are reset as fast as they are opened end the connection and leave no state", async (server) => {
  const before = await quietStats(server);
  for (let round = 0; round < 3; round++) {
    using flood = await visitor(server);
    for (let stream = 1; stream < 20_000; stream += 200) {
      const pairs = Array.from({ length: 100 }, (_, index) => [
        headers(stream + 2 * index, request("GET", "/hold")),
        frame(Type.rstStream, 0, stream + 2 * index, REFUSED),
      ]);
      await flood.deliver(Buffer.concat(pairs.flat()));
    }
    await flood.ended;
    equal((await curl(["--http2", `https://127.0.0.1:${server.port}/`])).body, "hello");
  }
  await server.whenStats(({ held, connections, sockets }) =>
    held === 0 && connections <= before.connections && sockets <= before.sockets
  );
});

const floods: [name: string, frames: () => Buffer][] = [
  ["SETTINGS", () => frame(Type.settings, 0, 0)],
  ["PING", () => frame(Type.ping, 0, 0, Buffer.alloc(8))],
  ["unexpected PING responses", () => frame(Type.ping, ACK, 0, Buffer.alloc(8))],
  ["PRIORITY", () => frame(Type.priority, 0, 1, Buffer.from([0, 0, 0, 0, 1]))],
  ["empty DATA", () => frame(Type.data, 0, 1)],
  ["empty CONTINUATION", () => frame(Type.continuation, 0, 3)],
];

for (const [name, flooded] of floods) {
  test(`a flood of ${name} frames ends the connection`, async (server) => {
    const before = await quietStats(server);
    using flood = await visitor(server);
    flood.send(headers(1, request("POST", "/hold"), false));
    if (name.endsWith("CONTINUATION")) {
      flood.send(frame(Type.headers, END_STREAM, 3, block(request("GET", "/"))));
    }
    const piece = Buffer.concat(Array.from({ length: 500 }, flooded));
    for (let sent = 0; sent < 40; sent++) await flood.deliver(piece);
    await flood.ended;
    await server.whenStats(({ held, connections, sockets }) =>
      held === 0 && connections <= before.connections && sockets <= before.sockets
    );
    equal((await curl(["--http2", `https://127.0.0.1:${server.port}/`])).body, "hello");
  });
}

test("an idle connection gets GOAWAY, and a busy one has no time limit", async (server) => {
  using busy = await visitor(server);
  busy.send(headers(1, request("GET", "/hold")));
  await server.said("held /hold");
  for (let round = 0; round < 2; round++) {
    using idle = await visitor(server);
    idle.send(headers(1, request("GET", "/")));
    equal(await idle.body(1), "hello");
    const goAway = await idle.until(({ type }) => type === Type.goAway);
    deepEqual([goAway.payload.readUInt32BE(0), goAway.payload.readUInt32BE(4)], [1, 0]);
    await idle.ended;
  }
  server.tell("release");
  equal(await busy.body(1), "held");
}, { idleSeconds: 1 });

test("a stalled response ends its stream, and so does a stalled upload", async (server) => {
  const narrow = Buffer.from([0, 4, 0, 0, 0, 0]);
  using staller = await visitor(server, Buffer.concat([Buffer.from(PREFACE), frame(Type.settings, 0, 0, narrow)]));
  staller.send(headers(1, request("GET", "/big?size=3000000")));
  await staller.until(({ type, stream }) => type === Type.rstStream && stream === 1);
  for (const method of ["POST", "GET"]) {
    using slow = await visitor(server);
    slow.send(headers(1, request(method, "/echo"), false));
    const types: number[] = [];
    await slow.until(({ type, stream }) => stream === 1 && types.push(type) > 0 && type === Type.rstStream);
    // The handler responds while it reads the first body; the second never reaches it.
    equal(types.includes(Type.headers), method === "POST");
    slow.send(headers(3, request("GET", "/")));
    equal(await slow.body(3), "hello");
  }
}, { stallSeconds: 1, bodySeconds: 1, bodyRate: 1_000_000 });

test("a slow upload with an early response ends without an error", async (server) => {
  using slow = await visitor(server);
  slow.send(headers(1, request("POST", "/early-amid"), false));
  const { payload } = await slow.until(({ type, stream }) => stream === 1 && type === Type.rstStream);
  equal(payload.readUInt32BE(0), 0);
}, { bodySeconds: 1, bodyRate: 1_000_000 });

test("close sends GOAWAY, waits for running exchanges and ends idle connections", async (server) => {
  using busy = await visitor(server);
  using idle = await visitor(server);
  busy.send(headers(1, request("GET", "/hold?1")));
  busy.send(headers(3, request("GET", "/hold?2")));
  await server.said("held /hold?2");
  idle.send(headers(1, request("GET", "/")));
  equal(await idle.body(1), "hello");
  server.tell("close");
  await idle.until(({ type }) => type === Type.goAway);
  await idle.ended;
  await busy.until(({ type }) => type === Type.goAway);
  busy.send(frame(Type.rstStream, 0, 3, REFUSED));
  await server.said("left /hold?2");
  server.tell("release");
  equal(await busy.body(1), "held");
  await busy.ended;
  equal(await server.ended, 0);
});

test("interim responses and trailers arrive", async (server) => {
  using reader = await visitor(server);
  reader.send(headers(1, request("GET", "/whole")));
  equal(await reader.body(1), "abc");
  const heads = reader.frames.filter(({ type, stream }) => type === Type.headers && stream === 1);
  equal(heads.length, 3);
});

test("bytes without the HTTP/2 preface end the connection", async (server) => {
  for (
    const text of [
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      `${PREFACE.slice(0, -3)}XX\r\n\r\n`,
      "\0\0\0\x04\0\0\0\0\0".repeat(3),
    ]
  ) {
    using other = await visitor(server, text);
    await other.ended;
    await rejects(other.until(({ type }) => type === Type.headers || type === Type.data));
  }
  using split = await visitor(server, PREFACE.slice(0, 5));
  split.send(Buffer.concat([Buffer.from(PREFACE.slice(5)), hello().subarray(PREFACE.length)]));
  split.send(headers(1, request("GET", "/")));
  match(await split.body(1), /^hello$/);
});

test("a head in several frames is one head, and empty upload ends are no flood", async (server) => {
  using sender = await visitor(server);
  const head = block(request("POST", "/inspect"));
  sender.send(frame(Type.headers, 0, 1, head.subarray(0, 10)));
  sender.send(frame(Type.continuation, END_HEADERS, 1, head.subarray(10)));
  sender.send(frame(Type.data, END_STREAM, 1));
  equal(JSON.parse(await sender.body(1)).method, "POST");
  for (let first = 3; first < 2400; first += 200) {
    const streams = Array.from({ length: 100 }, (_, index) => first + 2 * index);
    const posts = streams.flatMap((stream) => [
      headers(stream, request("POST", "/"), false),
      frame(Type.data, END_STREAM, stream),
    ]);
    sender.send(Buffer.concat(posts));
    for (const stream of streams) equal(await sender.body(stream), "hello");
  }
});
