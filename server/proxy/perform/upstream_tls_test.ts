import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Driver } from "../../../net/connection/mod.ts";
import { nodeDriver } from "../../../net/connection/node.ts";
import { createTestUpstream, failsAs, ok, pem, readText, startRawUpstream } from "./_test_upstream.ts";

const DRIVERS: Readonly<Record<string, Driver | undefined>> = { usual: undefined, node: nodeDriver };
const BIG = Buffer.alloc(8_000_000, "0123456789abcdefghijklmnopqrstuvwxyz");
const digest = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex");

for (const [name, driver] of Object.entries(DRIVERS)) {
  const trusting = () => createTestUpstream({ driver, caCerts: [pem("ca.pem")] });
  const test = (what: string, run: () => Promise<void>) => Deno.test(`upstream over TLS, ${name} driver: ${what}`, run);

  test("an authority that is trusted besides the usual ones, by address and by name, on a kept connection", async () => {
    await using peer = await startRawUpstream(({ socket }) => void socket.write(ok("secret")), { certificate: "leaf" });
    using sender = trusting();
    assert.equal(await readText(await sender.send(peer.url)), "secret");
    for (let i = 0; i < 2; i++) {
      assert.equal(await readText(await sender.send(`https://relay.test:${peer.port}/`)), "secret");
    }
    assert.equal(peer.sockets.length, 2);
    assert.match(peer.received[1].text, /\r\nHost: relay\.test:\d+\r\n/);
  });

  test("a certificate that nobody vouches for is refused, and nothing is sent", async () => {
    for (const certificate of ["leaf", "self_signed"]) {
      await using peer = await startRawUpstream(({ socket }) => void socket.write(ok()), { certificate });
      using sender = createTestUpstream({ driver });
      await assert.rejects(sender.send(peer.url), failsAs("502 upstream_tls"), certificate);
      assert.equal(peer.received.length, 0);
    }
  });

  test("a certificate that is refused is what is told, whatever the other addresses of the name do", async () => {
    await using peer = await startRawUpstream(({ socket }) => void socket.write(ok()), { certificate: "self_signed" });
    for (const addresses of [["127.0.0.1", "127.0.0.9"], ["127.0.0.9", "127.0.0.1"]]) {
      using sender = createTestUpstream({ driver, resolver: () => Promise.resolve(addresses) });
      await assert.rejects(sender.send(`https://localhost:${peer.port}/`), failsAs("502 upstream_tls"), addresses[0]);
    }
    assert.equal(peer.received.length, 0);
  });

  test("a certificate of another name is refused, and nothing is sent", async () => {
    await using peer = await startRawUpstream(({ socket }) => void socket.write(ok()), { certificate: "leaf" });
    using sender = trusting();
    await assert.rejects(sender.send(`https://other.test:${peer.port}/`), failsAs("502 upstream_tls"));
    assert.equal(peer.received.length, 0);
  });

  test("an upstream that does not speak TLS is told so", async () => {
    const response = "HTTP/1.1 400 Bad Request\r\n\r\n";
    await using peer = await startRawUpstream(() => {}, { onBytes: (socket) => void socket.end(response) });
    using sender = trusting();
    await assert.rejects(sender.send(`https://relay.test:${peer.port}/`), failsAs("502 upstream_tls"));
  });

  test("the address that the guard has checked is dialled, and the name asked for in the handshake", async () => {
    let hello = "";
    await using peer = await startRawUpstream(() => {}, {
      onBytes(socket, bytes) {
        hello += new TextDecoder("latin1").decode(bytes);
        socket.destroy();
      },
    });
    const names: string[] = [];
    using sender = createTestUpstream({
      driver,
      resolver: (hostname) => (names.push(hostname), Promise.resolve(["127.0.0.1"])),
    });
    await assert.rejects(sender.send(`https://relay.test:${peer.port}/`), failsAs("502 upstream_tls"));
    assert.deepEqual(names, ["relay.test"]);
    // The server name of RFC 6066, section 3: kind of name, length, name.
    assert(hello.includes("\0\0\x0arelay.test"), "the name is in the hello");
  });

  test("a large body arrives whole, both ways", async () => {
    let up = "";
    await using peer = await startRawUpstream(({ socket, text }) => {
      if (text.startsWith("POST")) up = digest(Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "latin1"));
      socket.write(text.startsWith("POST") ? ok() : `HTTP/1.1 200 OK\r\nContent-Length: ${BIG.length}\r\n\r\n`);
      if (!text.startsWith("POST")) socket.write(BIG);
    }, { certificate: "leaf" });
    using sender = trusting();
    const { body } = await sender.send(peer.url);
    const hash = createHash("sha256");
    for (let chunks = await body.take(); chunks !== null; chunks = await body.take()) {
      for (const chunk of chunks) hash.update(chunk);
    }
    assert.equal(hash.digest("hex"), digest(BIG));
    const chunks = (async function* () {
      for (let at = 0; at < BIG.length; at += 100_000) yield await Promise.resolve(BIG.subarray(at, at + 100_000));
    })();
    const headers: [string, string][] = [["Content-Length", String(BIG.length)]];
    await readText(await sender.send(peer.url, { method: "POST", body: chunks, headers }));
    assert.equal(up, digest(BIG));
    assert.equal(peer.sockets.length, 1);
  });

  test("an answer that is cut short breaks its body off", async () => {
    await using peer = await startRawUpstream(({ socket }) => void socket.end(ok("hello").slice(0, -1)), {
      certificate: "leaf",
    });
    using sender = trusting();
    await assert.rejects(readText(await sender.send(peer.url)), failsAs("502 upstream_reset"));
  });
}

Deno.test("upstream over TLS: a self-signed certificate that is itself trusted is taken", async () => {
  await using peer = await startRawUpstream(({ socket }) => void socket.write(ok("x")), { certificate: "self_signed" });
  using sender = createTestUpstream({ caCerts: [pem("self_signed.pem")] });
  assert.equal(await readText(await sender.send(`https://localhost:${peer.port}/`)), "x");
});
