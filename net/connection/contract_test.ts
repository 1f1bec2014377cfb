import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type net from "node:net";
import process from "node:process";
import { freePort, listen, listenProxy, listenTls, pem } from "./_test_peer.ts";
import { denoDriver } from "./deno.ts";
import { nodeDriver } from "./node.ts";
import { openConnector } from "./open.ts";
import { readProxyRules } from "./proxy_rules.ts";
import { ConnectError, type ConnectFailure, type Connection, readFor, writeFor } from "./types.ts";

const DRIVERS = { ...(process.versions.deno !== undefined && { deno: denoDriver }), node: nodeDriver };

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

for (const [name, driver] of Object.entries(DRIVERS)) {
  const connect = openConnector({ driver });
  const test = (what: string, run: () => Promise<void>) => Deno.test(`${name} connection: ${what}`, run);

  test("what is written comes back from an echo", async () => {
    await using peer = await listen((socket) => socket.pipe(socket));
    const connection = await connect(peer);
    await connection.write(encode("hello"));
    assert.equal(await readText(connection, 5), "hello");
    connection.close();
  });

  test("a read takes no more than fits and leaves the rest for the next", async () => {
    await using peer = await listen((socket) => void socket.end("hello"));
    const connection = await connect(peer);
    let text = "";
    for (let count: number | null = 0; count !== null;) {
      const into = new Uint8Array(2);
      count = await connection.read(into);
      text += decode(into.subarray(0, count ?? 0));
    }
    assert.equal(text, "hello");
    connection.close();
  });

  test("a peer that ended its side can still be written to", async () => {
    const received = Promise.withResolvers<string>();
    await using peer = await listen((socket) => {
      socket.end("bye");
      collect(socket).then((bytes) => received.resolve(decode(bytes)), received.reject);
    });
    const connection = await connect(peer);
    assert.equal(await readText(connection, 3), "bye");
    assert.equal(await connection.read(new Uint8Array(1)), null);
    assert.equal(await connection.read(new Uint8Array(1)), null);
    await connection.write(encode("late"));
    connection.close();
    assert.equal(await received.promise, "late");
  });

  test("50 MB go both ways at once through a slow reader", async () => {
    const data = createData(50_000_000);
    const received = Promise.withResolvers<string>();
    await using peer = await listen((socket) => {
      socket.write(data);
      hash(socket, data.length).then(received.resolve, received.reject);
    });
    const connection = await connect(peer);
    const written = writeAll(connection, data);
    assert.equal(await hashSlowly(connection, data.length), digest(data));
    await written;
    assert.equal(await received.promise, digest(data));
    connection.close();
  });

  test("a peer is not read from faster than the reader reads", async () => {
    const data = createData(48_000_000);
    let stalled: net.Socket | undefined;
    await using peer = await listen((socket) => {
      stalled ??= socket;
      socket.write(data);
    });
    const connection = await connect(peer);
    await connection.read(new Uint8Array(1));
    // Whoever reads ahead has read all of it by the time as much has come over a second connection.
    const second = await connect(peer);
    assert.equal(await hashSlowly(second, data.length), digest(data));
    assert((stalled?.writableLength ?? 0) > 0, "the peer has written all");
    second.close();
    connection.close();
  });

  test("reads and writes with callbacks tell what promises would", async () => {
    await using peer = await listen((socket) => {
      socket.once("data", (data) => socket.write(data));
      socket.on("data", (data) => String(data) === "bye" && socket.end());
    });
    const connection = await connect(peer);
    assert.deepEqual(await tellWrite(connection, encode("hello")), "written");
    const into = new Uint8Array(10);
    assert.equal(await tellRead(connection, into), 5);
    assert.equal(decode(into.subarray(0, 5)), "hello");
    const read = tellRead(connection, into);
    assert.deepEqual(await tellWrite(connection, encode("bye")), "written");
    assert.equal(await read, null);
    const pending = tellRead(connection, into);
    connection.close();
    assert.equal(await pending, null);
    assert.equal(await tellRead(connection, into), null);
    assert(await tellWrite(connection, encode("late")) instanceof Error);
  });

  test("a peer that resets is told to callbacks, once each", async () => {
    await using peer = await listen((socket) => void socket.once("data", () => socket.resetAndDestroy()));
    const connection = await connect(peer);
    await connection.write(encode("hello"));
    assert(await tellRead(connection, new Uint8Array(10)) instanceof Error);
    for (let told: unknown = "written"; !(told instanceof Error);) told = await tellWrite(connection, encode("late"));
    connection.close();
  });

  test("what is written behind a pending write arrives behind it", async () => {
    await using peer = await listen((socket) => socket.pipe(socket));
    const connection = await connect(peer);
    const writes = ["one,", "two,", "three"].map((text) => tellWrite(connection, encode(text)));
    assert.equal(await readText(connection, 13), "one,two,three");
    assert.deepEqual(await Promise.all(writes), ["written", "written", "written"]);
    connection.close();
  });

  test("what the system takes at once leaves before close, and before the end of this side", async () => {
    for (const end of ["close", "closeWrite"] as const) {
      const got = Promise.withResolvers<string>();
      await using peer = await listen((socket) => {
        let text = "";
        socket.on("data", (bytes) => text += bytes.toString());
        socket.on("end", () => got.resolve(text));
        socket.on("error", got.reject);
      });
      const connection = await connect(peer);
      const write = tellWrite(connection, encode("goodbye"));
      void connection[end]();
      assert.equal(await got.promise, "goodbye");
      await write;
      connection.close();
    }
  });

  test("close ends a pending read with null", async () => {
    await using peer = await listen(() => {});
    const connection = await connect(peer);
    const read = connection.read(new Uint8Array(10));
    connection.close();
    connection.close();
    assert.equal(await read, null);
    assert.equal(await connection.read(new Uint8Array(10)), null);
  });

  test("close rejects a pending write, and any later one", async () => {
    await using peer = await listen((socket) => void socket.pause());
    const connection = await connect(peer);
    const write = connection.write(new Uint8Array(64_000_000));
    // The write is under way once the peer has some of it.
    await peer.accepted;
    connection.close();
    await assert.rejects(write);
    await assert.rejects(connection.write(encode("late")));
  });

  test("a peer that resets rejects the read, and writes after it", async () => {
    await using peer = await listen((socket) => void socket.once("data", () => socket.resetAndDestroy()));
    const connection = await connect(peer);
    await connection.write(encode("hello"));
    await assert.rejects(connection.read(new Uint8Array(10)));
    await assert.rejects(async () => {
      for (;;) await connection.write(encode("late"));
    });
    connection.close();
  });

  test("a port where nobody listens is refused", async () => {
    for (const hostname of ["127.0.0.1", "localhost"]) {
      const port = await freePort();
      await fails(connect({ hostname, port }), "refused", /connection refused/);
    }
  });

  test("a name that nobody has is not found", async () => {
    await fails(connect({ hostname: "nobody.invalid", port: 80 }), "not_found", /nobody\.invalid.*no such host/);
  });

  test("a signal gives an attempt up, and tells a timeout apart", async () => {
    await using peer = await listen(() => {});
    await fails(connect({ ...peer, signal: AbortSignal.abort() }), "aborted", /given up/);
    const timeout = AbortSignal.abort(new DOMException("late", "TimeoutError"));
    await fails(connect({ ...peer, signal: timeout }), "timeout", /took too long/);
    const abort = new AbortController();
    const attempt = connect({ ...peer, signal: abort.signal });
    abort.abort();
    await fails(attempt, "aborted", /given up/);
  });

  test("a signal gives a TLS handshake up that the peer does not answer", async () => {
    const abort = new AbortController();
    await using peer = await listen((socket) => void socket.once("data", () => abort.abort()));
    await fails(connect({ ...peer, tls: {}, signal: abort.signal }), "aborted", /given up/);
  });

  test("a signal that fired before TLS began gives it up, and the connection can be closed once more", async () => {
    await using peer = await listen(() => {});
    const connection = await driver.openTcp(peer.hostname, peer.port);
    await fails(connection.startTls("localhost", {}, AbortSignal.abort()), "aborted", /given up/);
    connection.close();
  });

  test("a signal has no effect on an open connection", async () => {
    await using peer = await listen((socket) => socket.pipe(socket));
    const abort = new AbortController();
    const connection = await connect({ ...peer, signal: abort.signal });
    abort.abort();
    await connection.write(encode("hello"));
    assert.equal(await readText(connection, 5), "hello");
    connection.close();
  });

  test("localhost reaches a service that listens on IPv4 only, or on IPv6 only", async () => {
    for (const address of ["127.0.0.1", "::1"]) {
      await using peer = await listen((socket) => void socket.end(address), address);
      for (const hostname of ["localhost", "a.b.localhost", "LOCALHOST.", "localhost"]) {
        const connection = await connect({ hostname, port: peer.port });
        assert.equal(await readText(connection, address.length), address);
        connection.close();
      }
    }
  });

  test("an IPv6 address may have the brackets of a URL", async () => {
    await using peer = await listen((socket) => socket.pipe(socket), "::1");
    (await connect({ hostname: "[::1]", port: peer.port })).close();
  });

  test("TLS takes a certificate of a CA that was given, offers http/1.1 and carries data both ways", async () => {
    await using peer = await listenTls(
      "leaf",
      (socket) => socket.write(`${socket.alpnProtocol} `) && socket.pipe(socket),
    );
    const connection = await connect({ hostname: "localhost", port: peer.port, tls: { caCerts: [pem("ca.pem")] } });
    assert.equal(await readText(connection, 9), "http/1.1 ");
    const data = createData(5_000_000);
    const written = writeAll(connection, data);
    assert.equal(await hashSlowly(connection, data.length), digest(data));
    await written;
    connection.close();
  });

  test("TLS ends with null when the peer ends", async () => {
    await using peer = await listenTls("leaf", (socket) => void socket.end("bye"));
    const connection = await connect({ hostname: "127.0.0.1", port: peer.port, tls: { caCerts: [pem("ca.pem")] } });
    assert.equal(await readText(connection, 3), "bye");
    assert.equal(await connection.read(new Uint8Array(1)), null);
    connection.close();
  });

  test("TLS refuses an unknown CA, a name that is not in the certificate, and a peer that speaks no TLS", async () => {
    await using peer = await listenTls("leaf", () => {});
    await using plain = await listen((socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const caCerts = [pem("ca.pem")];
    await fails(connect({ ...peer, tls: {} }), "tls", /cannot speak TLS with 127\.0\.0\.1: .*/);
    await fails(connect({ hostname: "a.localhost", port: peer.port, tls: { caCerts } }), "tls", /a\.localhost/);
    await fails(connect({ ...plain, tls: { caCerts } }), "tls", /cannot speak TLS/);
  });

  test("a self-signed certificate is refused", async () => {
    await using peer = await listenTls("self_signed", () => {});
    await fails(connect({ ...peer, tls: {} }), "tls", /cannot speak TLS/);
  });

  test("a proxy is asked by CONNECT, with user and password, for names that it resolves", async () => {
    await using peer = await listenTls("leaf", (socket) => socket.pipe(socket));
    await using proxy = await listenProxy(peer.port);
    const env = { HTTPS_PROXY: `http://us%20er:p%C3%A4ss@127.0.0.1:${proxy.port}` };
    const connect = openConnector({ driver, proxies: readProxyRules(env), caCerts: [pem("ca.pem")] });
    const connection = await connect({ hostname: "relay.test", port: 443, tls: {} });
    await connection.write(encode("hello"));
    assert.equal(await readText(connection, 5), "hello");
    connection.close();
    const credentials = Buffer.from("us er:päss").toString("base64");
    assert.equal(
      proxy.heads[0],
      `CONNECT relay.test:443 HTTP/1.1\r\nhost: relay.test:443\r\nproxy-authorization: Basic ${credentials}\r\n\r\n`,
    );
  });

  test("a proxy carries plain connections, and leaves this machine and exempt hosts alone", async () => {
    await using peer = await listen((socket) => socket.pipe(socket));
    await using proxy = await listenProxy(peer.port);
    const env = { http_proxy: `127.0.0.1:${proxy.port}`, no_proxy: "nobody.invalid" };
    const connect = openConnector({ driver, proxies: readProxyRules(env) });
    for (const hostname of ["relay.test", "localhost", "127.0.0.1"]) {
      const connection = await connect({ hostname, port: peer.port });
      await connection.write(encode("hello"));
      assert.equal(await readText(connection, 5), "hello");
      connection.close();
    }
    await fails(connect({ hostname: "nobody.invalid", port: 80 }), "not_found", /nobody/);
    assert.deepEqual(proxy.heads, [
      `CONNECT relay.test:${peer.port} HTTP/1.1\r\nhost: relay.test:${peer.port}\r\n\r\n`,
    ]);
  });

  const REFUSALS: [what: string, answer: string, why: RegExp][] = [
    ["wants a password", "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", /password \(407\)/],
    ["refuses", "HTTP/1.1 403 Forb\x1bidden\r\n\r\nno", /answered 403|byte 0x1b/],
    ["refuses with a page", "HTTP/1.0 502 Bad Gateway\r\n\r\n<html>", /answered 502 "Bad Gateway"/],
    ["ends", "", /closed the connection/],
    ["ends within its answer", "HTTP/1.1 200 OK\r\nX: y", /closed the connection/],
    ["does not speak HTTP", "220 mail.example ESMTP\r\n", /does not speak HTTP.*220 mail/],
    ["answers malformed", "HTTP/1.1 200 OK\r\n folded\r\n\r\n", /folding/],
    ["never ends its answer", "HTTP/1.1 200 OK\r\n" + "X: y\r\n".repeat(5000), /longer than 16384/],
    ["has the peer speak first", "HTTP/1.1 200 OK\r\n\r\nhello", /before the first request/],
  ];
  test("a proxy that refuses or answers nonsense is told as such", async () => {
    for (const [, answer, why] of REFUSALS) {
      await using proxy = await listen((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.end(answer, "latin1"));
      });
      const proxies = readProxyRules({ ALL_PROXY: `http://127.0.0.1:${proxy.port}` });
      await fails(openConnector({ driver, proxies })({ hostname: "relay.test", port: 80 }), "proxy", why);
    }
  });

  test("a proxy that is not there is told as such", async () => {
    const proxies = readProxyRules({ ALL_PROXY: `http://127.0.0.1:${await freePort()}` });
    const connect = openConnector({ driver, proxies });
    await fails(
      connect({ hostname: "relay.test", port: 80 }),
      "proxy",
      /proxy.*127\.0\.0\.1 port \d+: connection refused/,
    );
  });

  test("a signal gives up a proxy that does not answer", async () => {
    const abort = new AbortController();
    await using proxy = await listen((socket) => void socket.once("data", () => abort.abort()));
    const proxies = readProxyRules({ ALL_PROXY: `http://127.0.0.1:${proxy.port}` });
    const attempt = openConnector({ driver, proxies })({ hostname: "relay.test", port: 80, signal: abort.signal });
    await fails(attempt, "aborted", /given up/);
  });
}

Deno.test("openConnector takes a self-signed certificate where that or any is trusted, on either runtime", async () => {
  await using peer = await listenTls("self_signed", (socket) => socket.pipe(socket));
  for (const tls of [{ allowSelfSigned: true }, { caCerts: [pem("self_signed.pem")] }]) {
    const connection = await openConnector()({ ...peer, tls });
    await connection.write(encode("hello"));
    assert.equal(await readText(connection, 5), "hello");
    connection.close();
  }
  await fails(openConnector()({ ...peer, tls: {} }), "tls", /cannot speak TLS/);
  await fails(openConnector()({ ...peer, tls: { caCerts: [pem("ca.pem")] } }), "tls", /cannot speak TLS/);
});

async function fails(attempt: Promise<Connection>, failure: ConnectFailure, why: RegExp): Promise<void> {
  await assert.rejects(attempt, (error: unknown) => {
    assert(error instanceof ConnectError, String(error));
    assert.equal(error.failure, failure, error.message);
    assert.match(error.message, why);
    assert(/^[ -~]+$/.test(error.message), error.message);
    return true;
  });
}

async function readText(connection: Connection, length: number): Promise<string> {
  const into = new Uint8Array(length);
  for (let at = 0; at < length;) {
    const count = await connection.read(into.subarray(at));
    assert(count !== null, `ended after ${at} bytes`);
    at += count;
  }
  return decode(into);
}

function createData(length: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let at = 0, word = 1; at < words.length; at++) words[at] = word = Math.imul(word, 1664525) + 1013904223;
  return new Uint8Array(words.buffer, 0, length);
}

const digest = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");

async function writeAll(connection: Connection, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length; at += 1_000_003) await connection.write(data.subarray(at, at + 1_000_003));
}

/** Reads in pieces of changing size and lets others go first now and then. */
async function hashSlowly(connection: Connection, length: number): Promise<string> {
  const sum = createHash("sha256");
  const into = new Uint8Array(65_536);
  for (let at = 0, turn = 0; at < length; turn++) {
    const count = await connection.read(into.subarray(0, turn % 3 === 0 ? 10_007 : into.length));
    assert(count !== null && count > 0, `ended after ${at} bytes`);
    sum.update(into.subarray(0, count));
    at += count;
    if (turn % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return sum.digest("hex");
}

async function hash(socket: net.Socket, length: number): Promise<string> {
  const sum = createHash("sha256");
  let count = 0;
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    sum.update(chunk);
    if ((count += chunk.length) >= length) break;
  }
  return sum.digest("hex");
}

async function collect(socket: net.Socket): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What a receiver is told, which a second word would follow at once. */
function tellRead(connection: Connection, into: Uint8Array): Promise<unknown> {
  return toldOnce((tell) => readFor(connection, into, { onRead: tell, onBroken: tell }));
}

function tellWrite(connection: Connection, bytes: Uint8Array): Promise<unknown> {
  return toldOnce((tell) => writeFor(connection, bytes, { onWritten: () => tell("written"), onUnwritten: tell }));
}

async function toldOnce(run: (tell: (what: unknown) => void) => void): Promise<unknown> {
  const told: unknown[] = [];
  await new Promise<void>((resolve) => run((what) => void (told.push(what), resolve())));
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(told.length, 1);
  return told[0];
}
