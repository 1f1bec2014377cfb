import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import process from "node:process";
import { connect as connectTls } from "node:tls";
import { yieldToEventLoop } from "../../common/event_loop.ts";
import { openAcceptor } from "./open.ts";
import type { Accepted, Connection } from "./types.ts";

Deno.test("an acceptor passes over peers who left before their turn", async () => {
  const acceptor = await openAcceptor({ hostname: "127.0.0.1", port: 0 });
  for (let count = 0; count < 20; count++) {
    const socket = connect(acceptor.port, "127.0.0.1");
    await once(socket, "connect");
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  const stayed = connect(acceptor.port, "127.0.0.1");
  await once(stayed, "connect");
  stayed.write("x");
  const into = new Uint8Array(1);
  for (let isOurs = false; !isOurs;) {
    const accepted = await acceptor.accept();
    assert(accepted !== null);
    isOurs = await accepted.connection.read(into).catch(() => null) === 1;
    accepted.connection.close();
  }
  stayed.destroy();
  acceptor.close();
});

Deno.test({
  name: "a thousand who come at once get in, though nobody is accepted yet",
  // As many as a system allows may wait: Linux tells how many, others wait with fewer.
  ignore: process.platform !== "linux" || Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8")) < 1000,
  async fn() {
    const acceptor = await openAcceptor({ hostname: "127.0.0.1", port: 0 });
    const visitors = Array.from({ length: 1000 }, () => connect(acceptor.port, "127.0.0.1"));
    await Promise.all(visitors.map((visitor) => once(visitor, "connect")));
    for (const visitor of visitors) visitor.destroy();
    await Promise.all(visitors.map((visitor) => once(visitor, "close")));
    acceptor.close();
  },
});

const pem = (name: string) => ({
  cert: readFileSync(new URL(`testdata/${name}.pem`, import.meta.url), "utf8"),
  key: readFileSync(new URL(`testdata/${name}.key`, import.meta.url), "utf8"),
});

Deno.test("an acceptor takes another certificate for those who come next, and refuses what is no pair", async () => {
  const acceptor = await openAcceptor({
    hostname: "127.0.0.1",
    port: 0,
    tls: { ...pem("leaf"), protocols: ["http/1.1"] },
  });
  const accepting = acceptAll();
  const [leaf, open] = await look();
  assert.throws(() => acceptor.setCertificate({ cert: pem("leaf").cert, key: "nonsense" }));
  assert.equal((await look())[0], leaf);
  for (const name of ["self_signed", "leaf", "self_signed"]) {
    acceptor.setCertificate(pem(name));
    assert.equal((await look())[0] === leaf, name === "leaf");
  }
  open.write("x");
  assert.equal(String(await once(open, "data")), "x");
  acceptor.close();
  for (const connection of await accepting) connection.close();

  /** Whoever comes while one takes the other's place is refused. */
  async function look(): ReturnType<typeof lookOnce> {
    return await lookOnce().catch(look);
  }

  async function lookOnce() {
    const socket = connectTls({ port: acceptor.port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    return [socket.getPeerCertificate().fingerprint256, socket] as const;
  }

  /** Somebody else may have the port for a moment; then it is asked again, as by everybody who accepts. */
  async function accept(): Promise<Accepted | null> {
    for (;;) {
      try {
        return await acceptor.accept();
      } catch (error) {
        if (!(error instanceof Error) || error.name !== "AddrInUse") throw error;
        await yieldToEventLoop();
      }
    }
  }

  async function acceptAll() {
    const connections: Connection[] = [];
    for (let next = await accept(); next !== null; next = await accept()) {
      const { connection } = next;
      connections.push(connection);
      await next.handshake();
      const into = new Uint8Array(1);
      connection.read(into).then((count) => count === null ? undefined : connection.write(into)).catch(() => {});
    }
    return connections;
  }
});
