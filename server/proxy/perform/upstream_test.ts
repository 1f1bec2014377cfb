import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Driver, PlainConnection } from "../../../net/connection/mod.ts";
import { nodeDriver } from "../../../net/connection/node.ts";
import { HttpError } from "../../../common/http_error.ts";
import { createChunkedDecoder } from "../../../net/http1/mod.ts";
import {
  createEnding,
  createTestUpstream,
  failsAs,
  ok,
  readText,
  startRawUpstream,
  type TestUpstreamOptions,
  until,
} from "./_test_upstream.ts";

const DRIVERS: Readonly<Record<string, Driver | undefined>> = { usual: undefined, node: nodeDriver };
function decode(chunks: string): string {
  let text = "";
  const decoder = createChunkedDecoder();
  decoder.push(encode(chunks), (data) => text += new TextDecoder().decode(data));
  assert(decoder.done);
  return text;
}

const encode = (text: string) => new TextEncoder().encode(text);

for (const [name, driver] of Object.entries(DRIVERS)) {
  const create = (options: TestUpstreamOptions = {}) => createTestUpstream({ driver, ...options });
  const test = (what: string, run: () => Promise<void>) => Deno.test(`upstream, ${name} driver: ${what}`, run);

  test("two requests go over one connection, the second without dialling", async () => {
    await using peer = await startRawUpstream(({ socket, text }) => void socket.write(ok(text.split(" ")[1])));
    using sender = create();
    const first = await sender.send(`${peer.url}/a`);
    assert(first.connectMs > 0);
    assert.equal(await readText(first), "/a");
    const second = await sender.send(`${peer.url}/b?c=d`);
    assert.deepEqual([second.dnsMs, second.connectMs], [0, 0]);
    assert.equal(await readText(second), "/b?c=d");
    assert.equal(peer.sockets.length, 1);
  });

  test("a GET is sent again when a kept connection ends without a byte of an answer", async () => {
    await using peer = await startRawUpstream(({ socket, text, connection }) => {
      if (text.startsWith("GET /again") && connection === 0) socket.destroy();
      else socket.write(ok("x"));
    });
    using sender = create();
    await readText(await sender.send(peer.url));
    assert.equal(await readText(await sender.send(`${peer.url}/again`)), "x");
    assert.deepEqual(peer.received.map(({ connection }) => connection), [0, 0, 1]);
  });

  test("nothing else is sent twice: not a body, not after the first byte, not on a new connection", async () => {
    for (
      const [method, body, partial] of [["POST", encode("x"), ""], ["DELETE", null, ""], [
        "GET",
        null,
        "HTTP/1.1 2",
      ]] as const
    ) {
      await using peer = await startRawUpstream(({ socket, text }) => {
        if (text.includes(" /first ")) socket.write(ok("x"));
        else socket.end(partial);
      });
      using sender = create();
      await readText(await sender.send(`${peer.url}/first`));
      await assert.rejects(sender.send(peer.url, { method, body }), failsAs("502 upstream_reset"), method);
      assert.equal(peer.received.length, 2);
    }
    await using peer = await startRawUpstream(({ socket }) => void socket.destroy());
    using sender = create();
    await assert.rejects(sender.send(peer.url), failsAs("502 upstream_reset"));
    assert.equal(peer.received.length, 1);
  });

  test("a connection that its upstream ends, or speaks on, while idle is not used again", async () => {
    for (const said of ["", ok("not asked for")]) {
      await using peer = await startRawUpstream(({ socket }) => void socket.write(ok("asked for")));
      using sender = create();
      await readText(await sender.send(peer.url));
      peer.sockets[0].end(said);
      await peer.closed(0);
      assert.equal(await readText(await sender.send(peer.url, { method: "POST" })), "asked for");
      assert.equal(peer.sockets.length, 2);
    }
  });

  test("an idle connection has an end, and one whose upstream keeps it for a second is not kept", async () => {
    await using peer = await startRawUpstream(({ socket, text }) => {
      socket.write(text.includes("/short") ? ok("x", "Keep-Alive: max=9, timeout=1") : ok("x"));
    });
    using sender = create({ limits: { idleMs: 20 } });
    await readText(await sender.send(peer.url));
    await peer.closed(0);
    using patient = create({ limits: { idleMs: 60_000 } });
    await readText(await patient.send(`${peer.url}/short`));
    await peer.closed(1);
  });

  test("requests beyond the connections to an upstream wait, and are told when none got free", async () => {
    const held: (() => void)[] = [];
    await using peer = await startRawUpstream(({ socket }) => void held.push(() => socket.write(ok("x"))));
    using sender = create({ limits: { perKey: 1 } });
    const first = sender.send(peer.url);
    const ending = createEnding();
    const refused = sender.send(peer.url, { ending });
    const waiting = sender.send(peer.url);
    ending.end(new HttpError(504, "upstream_timeout", "late"));
    await assert.rejects(refused, failsAs("503 upstream_busy"));
    const answers = [first, waiting].map(async (response) => await readText(await response));
    await until(() => held.length >= 1);
    held[0]();
    await answers[0];
    await until(() => held.length >= 2);
    held[1]();
    await answers[1];
    assert.equal(peer.sockets.length, 1);
  });

  test("no more connections are kept than may be idle", async () => {
    const held: (() => void)[] = [];
    await using peer = await startRawUpstream(({ socket }) => void held.push(() => socket.write(ok("x"))));
    using sender = create({ limits: { idlePerKey: 1, idleMs: 60_000 } });
    const answers = [1, 2, 3].map(async () => await readText(await sender.send(peer.url)));
    await until(() => held.length === 3);
    for (const response of held) response();
    await Promise.all(answers);
    await Promise.any([
      Promise.all([peer.closed(0), peer.closed(1)]),
      Promise.all([peer.closed(0), peer.closed(2)]),
      Promise.all([peer.closed(1), peer.closed(2)]),
    ]);
    const again = sender.send(peer.url);
    await until(() => held.length === 4);
    held[3]();
    await readText(await again);
    assert.equal(peer.sockets.length, 3);
  });

  test("a connection that went over to another protocol has what came with the head, both ways, and is not kept", async () => {
    await using peer = await startRawUpstream(({ socket, text }) => {
      if (!text.startsWith("GET /switch")) return void socket.write(ok("x"));
      socket.once("data", (data) => socket.end(`heard ${data}`));
      socket.write("HTTP/1.1 101 Switching\r\nUpgrade: own\r\nConnection: upgrade\r\n\r\nearly");
    });
    using sender = create();
    const headers: [string, string][] = [["Connection", "upgrade"], ["Upgrade", "own"]];
    const { status, switched } = await sender.send(`${peer.url}/switch`, { headers, upgrade: true });
    assert.equal(status, 101);
    assert(switched !== null);
    let text = "";
    const memory = new Uint8Array(3);
    const read = async () => {
      const count = await switched.read(memory);
      text += new TextDecoder().decode(memory.subarray(0, count ?? 0));
      return count !== null;
    };
    while (text !== "early") assert(await read());
    await switched.write(encode("words"));
    while (await read());
    assert.equal(text, "earlyheard words");
    switched.close();
    assert.equal((await sender.send(peer.url, { headers, upgrade: true })).switched, null);
  });

  test("who waits for a connection opens one when another is closed", async () => {
    await using peer = await startRawUpstream(({ socket, text }) => {
      socket.write(text.includes("/close") ? ok("x", "Connection: close") : ok("y"));
    });
    using sender = create({ limits: { perKey: 1 } });
    const texts = [`${peer.url}/close`, peer.url].map(async (url) => await readText(await sender.send(url)));
    assert.deepEqual(await Promise.all(texts), ["x", "y"]);
    assert.equal(peer.sockets.length, 2);
  });

  test("where all connections are open that may be, an idle one makes way, and a busy one does not", async () => {
    await using one = await startRawUpstream(({ socket }) => void socket.write(ok("x")));
    await using other = await startRawUpstream(() => {});
    using sender = create({ limits: { total: 1 } });
    await readText(await sender.send(one.url));
    const ending = createEnding();
    const busy = sender.send(other.url, { ending });
    await one.closed(0);
    await assert.rejects(sender.send(one.url), failsAs("503 too_many_connections"));
    ending.end(new HttpError(504, "upstream_timeout", "late"));
    await assert.rejects(busy, failsAs("504 upstream_timeout"));
    assert.equal(await readText(await sender.send(one.url)), "x");
  });

  test("an answer that comes before the body has been read is read, and the rest of the body let go of", async () => {
    const reply = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno";
    await using peer = await startRawUpstream(({ socket }) => void socket.write(reply), { early: true });
    using sender = create({ limits: { idleMs: 60_000 } });
    let isLetGo = false;
    async function* endless() {
      try {
        while (true) yield await Promise.resolve(new Uint8Array(100_000));
      } finally {
        isLetGo = true;
      }
    }
    const response = await sender.send(peer.url, { method: "POST", body: endless() });
    assert.deepEqual([response.status, response.statusText], [413, "Too Large"]);
    assert.equal(await readText(response), "no");
    await peer.closed(0);
    await until(() => isLetGo);
  });

  test("interim answers are passed over, however many", async () => {
    const interim = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n".repeat(10_000);
    await using peer = await startRawUpstream(({ socket }) =>
      void socket.write(`HTTP/1.1 100 Continue\r\n\r\n${interim}${ok("x")}`)
    );
    using sender = create();
    const response = await sender.send(peer.url);
    assert.deepEqual([response.status, response.headers], [200, [["Content-Length", "1"]]]);
    assert.equal(await readText(response), "x");
  });

  const BODIES: [what: string, response: string, body: string, kept: boolean, method?: string][] = [
    ["a length", ok("hello"), "hello", true],
    ["a length of 0", ok(), "", true],
    [
      "chunks",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n02;x=y\r\nde\r\n0\r\nX: y\r\n\r\n",
      "abcde",
      true,
    ],
    [
      "a thousand chunks",
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\na\r\n".repeat(1000)}0\r\n\r\n`,
      "a".repeat(1000),
      true,
    ],
    ["the connection's end", "HTTP/1.1 200 OK\r\n\r\nto the end", "to the end", false],
    ["the end of one of HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nold", "old", false],
    ["nothing: 204", "HTTP/1.1 204 No Content\r\n\r\n", "", true],
    ["nothing: 304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", "", true],
    ["nothing: HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "", true, "HEAD"],
    ["a length, with Connection: close", ok("bye", "Connection: close"), "bye", false],
  ];

  for (const [what, reply, body, kept, method = "GET"] of BODIES) {
    test(`a body that ends with ${what}`, async () => {
      await using peer = await startRawUpstream(({ socket }) => kept ? socket.write(reply) : socket.end(reply));
      using sender = create();
      for (let i = 0; i < 2; i++) assert.equal(await readText(await sender.send(peer.url, { method })), body);
      assert.equal(peer.sockets.length, kept ? 1 : 2);
    });
  }

  test("a connection that brings more than the answer is not used again", async () => {
    const more = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nmine\r\n0\r\n\r\n";
    for (const reply of [ok("mine"), chunked]) {
      await using peer = await startRawUpstream(({ socket }) => void socket.write(reply + more));
      using sender = create({ limits: { idleMs: 60_000 } });
      assert.equal(await readText(await sender.send(peer.url)), "mine");
      await peer.closed(0);
      assert.equal(await readText(await sender.send(peer.url)), "mine");
    }
  });

  test("an answer that is cut short breaks its body off, each time it is asked", async () => {
    for (const reply of [ok("hello").slice(0, -1), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell"]) {
      await using peer = await startRawUpstream(({ socket }) => void socket.end(reply));
      using sender = create();
      const response = await sender.send(peer.url);
      await assert.rejects(readText(response), failsAs("502 upstream_reset"));
      await assert.rejects(response.body.take(), failsAs("502 upstream_reset"));
    }
  });

  const REFUSED: [what: string, reply: string, code?: string][] = [
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["HTTP/0.9", "<html>hello</html>"],
    ["a folded line", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"],
    ["a bare CR", "HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    ["101 that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["a head of more than 64 KiB", `HTTP/1.1 200 OK\r\nA: ${"x".repeat(66_000)}`],
    ["a head that ends early", "HTTP/1.1 200 OK\r\nA: b\r\n", "502 upstream_reset"],
  ];

  test("what is no HTTP is told so", async () => {
    for (const [what, reply, code = "502 upstream_not_http"] of REFUSED) {
      await using peer = await startRawUpstream(({ socket }) => void socket.end(reply));
      using sender = create();
      await assert.rejects(sender.send(peer.url, { method: "POST" }), failsAs(code), what);
    }
  });

  test("a chunked body that breaks its framing is told so", async () => {
    await using peer = await startRawUpstream(({ socket }) =>
      void socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n")
    );
    using sender = create();
    await assert.rejects(readText(await sender.send(peer.url)), failsAs("502 upstream_not_http"));
    await peer.closed(0);
  });

  test("a head that comes byte by byte is read", async () => {
    const reply = ok("x", "A: b", "C: d");
    await using peer = await startRawUpstream(async ({ socket }) => {
      for (const char of reply) await new Promise((resolve) => socket.write(char, resolve));
    });
    using sender = create();
    assert.equal(await readText(await sender.send(peer.url)), "x");
  });

  test("the end of time ends a request in each of its phases, and its connection at once", async () => {
    const why = new HttpError(504, "upstream_timeout", "late");
    await using silent = await startRawUpstream(() => {});
    const asked = Promise.withResolvers<void>();
    using lost = create({ resolver: () => (asked.resolve(), new Promise(() => {})) });
    const resolving = createEnding();
    const unresolved = lost.send("http://name.test/", { ending: resolving });
    await asked.promise;
    resolving.end(why);
    await assert.rejects(unresolved, why);

    using sender = create();
    const connecting = createEnding();
    const handshake = sender.send(`https://127.0.0.1:${silent.port}/`, { ending: connecting });
    await until(() => silent.sockets.length >= 1);
    connecting.end(why);
    await assert.rejects(handshake, why);
    await silent.closed(0);

    const waiting = createEnding();
    const unanswered = sender.send(silent.url, { ending: waiting });
    await until(() => silent.received.length >= 1);
    waiting.end(why);
    await assert.rejects(unanswered, why);
    await silent.closed(1);

    for (
      const reply of [ok("hello").slice(0, -1), "HTTP/1.1 200 OK\r\n\r\nno length, so its end is the connection's"]
    ) {
      await using peer = await startRawUpstream(({ socket }) => void socket.write(reply));
      const reading = createEnding();
      const response = await sender.send(peer.url, { ending: reading });
      assert((await response.body.take())!.length > 0);
      const rest = response.body.take();
      reading.end(why);
      await assert.rejects(rest, why);
      await peer.closed(0);
    }
  });

  test("an upstream that does not get done with its handshake is given up", async () => {
    await using silent = await startRawUpstream(() => {});
    using sender = create({ connectTimeoutMs: 20 });
    await assert.rejects(sender.send(`https://127.0.0.1:${silent.port}/`), failsAs("504 upstream_timeout"));
    await silent.closed(0);
  });

  test("a body that is cancelled closes its connection", async () => {
    await using peer = await startRawUpstream(({ socket }) => void socket.write(ok("hello").slice(0, -1)));
    using sender = create();
    (await sender.send(peer.url)).body.cancel();
    await peer.closed(0);
  });

  test("a body of another length than announced is not sent as if it were whole", async () => {
    await using peer = await startRawUpstream(({ socket }) => void socket.write(ok()));
    using sender = create();
    for (const text of ["four", "sixsix"]) {
      const body = (async function* () {
        yield await Promise.resolve(encode(text));
      })();
      const sent = sender.send(peer.url, { method: "POST", headers: [["Content-Length", "5"]], body });
      await assert.rejects(sent, failsAs("400 body_length_wrong"), text);
    }
    assert.equal(peer.received.length, 0);
  });

  test("what the body throws is what the request fails with", async () => {
    await using peer = await startRawUpstream(() => {});
    using sender = create();
    const body = (async function* () {
      yield await Promise.resolve(encode("some"));
      throw new HttpError(413, "body_too_large", "too large");
    })();
    await assert.rejects(sender.send(peer.url, { method: "POST", body }), failsAs("413 body_too_large"));
    await peer.closed(0);
  });

  test("a head is written with Host and framing of ours, and nothing that would be a line of its own", async () => {
    await using peer = await startRawUpstream(({ socket }) => void socket.write(ok("\xe9", "X-Name: caf\xe9")));
    using sender = create();
    const headers: [string, string][] = [["X-A", "caf\xe9"], ["X-A", "two"]];
    await readText(await sender.send(`${peer.url}/p?q`, { headers }));
    assert.equal(
      peer.received[0].text,
      `GET /p?q HTTP/1.1\r\nHost: 127.0.0.1:${peer.port}\r\nX-A: caf\xe9\r\nX-A: two\r\n\r\n`,
    );
    await readText(await sender.send(peer.url, { method: "PUT", headers: [["host", "other.test"]] }));
    assert.equal(peer.received[1].text, "PUT / HTTP/1.1\r\nhost: other.test\r\nContent-Length: 0\r\n\r\n");
    await readText(
      await sender.send(peer.url, { method: "POST", headers: [["Content-Length", "99"]], body: encode("abc") }),
    );
    assert.match(peer.received[2].text, /\r\nContent-Length: 3\r\n\r\nabc$/);

    const unfit: { method?: string; headers?: [string, string][] }[] = [
      { headers: [["A", "b\r\nC: d"]] },
      { headers: [["A", "b\0"]] },
      { headers: [["A", "\u010d\u010a"]] },
      { headers: [["A b", "c"]] },
      { headers: [["A\r\nB", "c"]] },
      { method: "GET / HTTP/1.1\r\nX:" },
    ];
    for (const request of unfit) {
      await assert.rejects(
        sender.send(peer.url, request),
        failsAs("400 description_invalid"),
        JSON.stringify(request),
      );
    }
    assert.equal(peer.received.length, 3);
  });

  test("a name beyond ASCII in an answer's head stays the byte it was", async () => {
    await using peer = await startRawUpstream(({ socket }) =>
      void socket.write(Buffer.from(ok("x", "X-Name: caf\xe9"), "latin1"))
    );
    using sender = create();
    const response = await sender.send(peer.url);
    assert.deepEqual(response.headers[1], ["X-Name", "caf\xe9"]);
    response.body.cancel();
  });

  test("a body in chunks arrives as chunks, and its connection carries the next one", async () => {
    await using peer = await startRawUpstream(({ socket }) => void socket.write(ok()));
    using sender = create();
    const send = async (...chunks: string[]) => {
      const body = (async function* () {
        for (const chunk of chunks) yield await Promise.resolve(encode(chunk));
      })();
      await readText(await sender.send(peer.url, { method: "POST", body }));
    };
    await send("ab", "", "c".repeat(40_000), "d");
    await send();
    const [, chunks] = peer.received[0].text.split("\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert.equal(decode(chunks), `ab${"c".repeat(40_000)}d`);
    assert.match(peer.received[1].text, /\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n$/);
    assert.equal(peer.sockets.length, 1);
  });
}

Deno.test("upstream: an answer is read although the upstream took no more of the body", async () => {
  const broken = Promise.withResolvers<void>();
  let writes = 0;
  const response = encode("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
  const connection: PlainConnection = {
    write(bytes) {
      if (writes++ === 0 || bytes.length === 0) return Promise.resolve();
      broken.resolve();
      return Promise.reject(new Error("EPIPE"));
    },
    async read(into) {
      await broken.promise;
      // Whatever the sender does about the failure, it has done by then.
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (isClosed) return null;
      into.set(response);
      return response.length;
    },
    closeWrite: () => Promise.resolve(),
    close: () => void (isClosed = true),
    startTls: () => Promise.reject(new Error("not asked for")),
  };
  let isClosed = false;
  using sender = createTestUpstream({ driver: { openTcp: () => Promise.resolve(connection) } });
  const body = (async function* () {
    while (true) yield await Promise.resolve(encode("chunk"));
  })();
  const { status } = await sender.send("http://upstream.test/", { method: "POST", body });
  assert.equal(status, 413);
});
