/** WebSockets through a tunnel: the service and the visitor are made with another implementation than ours. */
import assert from "node:assert/strict";
import {
  createNoise,
  hashOf,
  openRaw,
  openSocket,
  startRecorder,
  startServer,
  startSocketService,
  startTunnel,
  visit,
} from "./kit.ts";

const MIB = 1024 * 1024;

for (const listener of ["edge", "deno"]) {
  Deno.test(`a WebSocket passes a tunnel (listener ${listener})`, async (t) => {
    await using service = await startSocketService();
    await using server = await startServer({ args: ["--listener", listener, "--stream-idle-seconds", "1"] });
    await using tunnel = await startTunnel({ server, target: service });
    const url = `${tunnel.url}/ws?a=1`;

    await t.step("text, binary and empty messages come back as they were", async () => {
      await using socket = await openSocket(url);
      for (const message of ["text \u{1f600} \0", "", new Uint8Array([0, 255, 128]), new Uint8Array(0)]) {
        socket.send(message);
        assert.deepEqual(await socket.next(), message);
      }
    });

    await t.step("the path and query arrive, and the subprotocol that the service takes", async () => {
      await using socket = await openSocket(url, { protocols: ["first", "second"] });
      assert.equal(socket.protocol, "second");
      await service.log.waitFor((line) => line.startsWith("open /ws?a=1 first,") && line.endsWith("second"));
    });

    for (
      const [code, reason] of [[1000, ""], [1000, "done"], [3001, "a b"], [4999, "\u00e9\u{1f600}"], [
        1001,
        "bye",
      ]] as const
    ) {
      await t.step(`the visitor's close ${code} "${reason}" reaches the service`, async () => {
        await using socket = await openSocket(url);
        socket.close(code, reason);
        await service.log.waitFor(`closed ${code} ${reason}`.trim());
        assert.deepEqual(await socket.closed, { code, reason });
      });
      await t.step(`the service's close ${code} "${reason}" reaches the visitor`, async () => {
        await using socket = await openSocket(url);
        socket.send(`close ${code} ${reason}`);
        assert.deepEqual(await socket.closed, { code, reason });
      });
    }

    await t.step("a quiet one outlives the idle time of requests", async () => {
      await using socket = await openSocket(url);
      // As long as this takes, twice.
      for (let count = 0; count < 2; count++) assert.equal((await visit(`${tunnel.url}/never`)).status, 504);
      socket.send("still here");
      assert.equal(await socket.next(), "still here");
    });

    await t.step("visitors who leave at once, before any answer, leave no stream behind", async () => {
      await using idle = await startServer({ args: ["--listener", listener] });
      await using other = await startTunnel({ server: idle, target: service });
      const { host } = new URL(other.url);
      const handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
      for (const [path, fields] of [["/never", ""], ["/ws", handshake], ["/never", ""]]) {
        await using raw = await openRaw(idle.port);
        raw.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`);
        await idle.whenHealth(({ streams }) => streams > 0 || path === "/ws");
        raw.reset();
      }
      await idle.whenHealth(({ streams }) => streams === 0);
    });

    await t.step("a close without a code is one on the other side", async () => {
      await using socket = await openSocket(url);
      socket.close();
      await service.log.waitFor("closed 1005");
      await using other = await openSocket(url);
      other.send("close");
      assert.deepEqual(await other.closed, { code: 1005, reason: "" });
    });

    await t.step("a visitor whose connection breaks is gone for the service", async () => {
      await using socket = await openSocket(`${tunnel.url}/broken`);
      await service.log.waitFor("open /broken");
      socket.socket.terminate();
      await service.log.waitFor(/^closed (1001|1006)/);
    });

    await t.step("10,000 messages arrive in order, both ways at once", async () => {
      await using socket = await openSocket(url);
      const count = 10_000;
      for (let i = 0; i < count; i++) socket.send(String(i));
      for (let i = 0; i < count; i++) assert.equal(await socket.next(), String(i));
      socket.send(`push ${count}`);
      for (let i = 0; i < count; i++) assert.equal(await socket.next(), String(i));
    });

    await t.step("a message of 16 MiB comes back whole, text too", async () => {
      await using socket = await openSocket(url);
      const pieces = [...createNoise(16 * MIB, 3)];
      socket.send(new Uint8Array(await new Blob(pieces).arrayBuffer()));
      const back = await socket.next();
      assert(back instanceof Uint8Array);
      assert.equal(await hashOf([back]), await hashOf(pieces));
      const long = "\u00e9".repeat(8 * MIB);
      socket.send(long);
      assert(await socket.next() === long);
    });

    await t.step("a refused handshake is the answer that the service gave", async () => {
      await using raw = await openRaw(server.port);
      raw.write(handshake("/refuse", new URL(tunnel.url).host));
      const answer = await raw.read();
      assert.deepEqual([answer.status, answer.header("x-why")], [403, "rules"]);
      assert.equal(new TextDecoder().decode(answer.body), "not you!");
    });

    await t.step("subprotocols are offered and answered as the service writes them", async () => {
      await using raw = await openRaw(server.port);
      raw.write(handshake("/ws", new URL(tunnel.url).host, "Sec-WebSocket-Protocol: a,b ,  c\r\n"));
      const answer = await raw.read();
      assert.deepEqual([answer.status, answer.header("sec-websocket-protocol")], [101, "c"]);
      assert.equal(answer.header("sec-websocket-extensions"), undefined);
    });

    assert.equal((await server.whenHealth(({ streams }) => streams === 0)).sessions, 1);
  });
}

function handshake(path: string, host: string, more = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n` +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
    `Sec-WebSocket-Extensions: permessage-deflate\r\n${more}\r\n`;
}

Deno.test("what a service answers to a WebSocket handshake is between it and its visitor, a wrong key too", async () => {
  await using recorder = await startRecorder({
    answer: () =>
      "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n",
  });
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: recorder });
  await using raw = await openRaw(server.port);
  raw.write(handshake("/", new URL(tunnel.url).host));
  const answer = await raw.read();
  assert.deepEqual([answer.status, answer.header("sec-websocket-accept")], [101, "x"]);
});
