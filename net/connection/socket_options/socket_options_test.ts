import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { pem } from "../_test_peer.ts";
import { denoDriver, openDenoAcceptor } from "../deno.ts";
import { setForAccepted } from "./deno.ts";
import { nodeDriver, openNodeAcceptor } from "../node.ts";
import { openConnector } from "../open.ts";

for (const [name, driver] of Object.entries({ deno: denoDriver, node: nodeDriver })) {
  Deno.test({
    name: `${name} connection: the kernel has TCP_NODELAY on, in plain and in TLS`,
    // Only a descriptor can be asked for the option, and /proc tells the descriptor.
    ignore: Deno.build.os !== "linux",
    async fn() {
      const connect = openConnector({ driver });
      const server = net.createServer();
      assert.equal(await readNoDelayOf(server, (port) => connect({ hostname: "127.0.0.1", port })), 1);

      const secure = tls.createServer({ key: pem("leaf.key"), cert: pem("leaf.pem") });
      const trust = { caCerts: [pem("ca.pem")] };
      assert.equal(await readNoDelayOf(secure, (port) => connect({ hostname: "127.0.0.1", port, tls: trust })), 1);

      // The kernel's default is off, so a connection that nobody asked to have it tells that this test can fail.
      const plain = async (port: number) => await Deno.connect({ hostname: "127.0.0.1", port });
      assert.equal(await readNoDelayOf(net.createServer(), plain), 0);
    },
  });
}

for (const [name, openAcceptor] of Object.entries({ deno: openDenoAcceptor, node: openNodeAcceptor })) {
  for (const secured of [false, true]) {
    Deno.test({
      name: `${name} connection: one that is accepted ${
        secured ? "in TLS" : "in plain"
      } has TCP_NODELAY on, and holds little unsent`,
      ignore: Deno.build.os !== "linux",
      async fn() {
        const tls = secured ? { cert: pem("leaf.pem"), key: pem("leaf.key"), protocols: ["http/1.1"] } : undefined;
        const acceptor = await openAcceptor({ hostname: "127.0.0.1", port: 0, tls });
        // Else it fell back on the other's, which costs three times the processor.
        assert.equal(acceptor.constructor.name, name === "deno" ? "DenoAcceptor" : "NodeAcceptor");
        const visitor = net.connect(acceptor.port, "127.0.0.1");
        await once(visitor, "connect");
        const accepted = await acceptor.accept();
        const fd = findDescriptor(visitor.localPort ?? 0);
        assert.equal(readOption(fd, TCP_NODELAY), 1);
        // Node has no way to ask for it.
        if (name === "deno") assert.equal(readOption(fd, TCP_NOTSENT_LOWAT), 128 * 1024);
        accepted?.handshake().catch(() => {});
        visitor.destroy();
        await once(visitor, "close");
        accepted?.connection.close();
        acceptor.close();
      },
    });
  }
}

for (const secured of [false, true]) {
  Deno.test({
    name: `deno connection: one that was told to holds little unsent ${secured ? "in TLS" : "in plain"}`,
    ignore: Deno.build.os !== "linux",
    async fn() {
      const server = secured ? tls.createServer({ key: pem("leaf.key"), cert: pem("leaf.pem") }) : net.createServer();
      server.on("connection", (socket: net.Socket) => socket.on("error", () => {}));
      server.on("secureConnection", (socket: tls.TLSSocket) => socket.on("error", () => {}));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as net.AddressInfo;
      const connect = openConnector({ driver: denoDriver, caCerts: secured ? [pem("ca.pem")] : [] });
      const connection = await connect({ hostname: "127.0.0.1", port, tls: secured ? {} : undefined });
      const fd = findDescriptor(port);
      assert.notEqual(readOption(fd, TCP_NOTSENT_LOWAT), 128 * 1024);
      connection.limitUnsent?.();
      assert.equal(readOption(fd, TCP_NOTSENT_LOWAT), 128 * 1024);
      connection.close();
      connection.limitUnsent?.();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

async function readNoDelayOf(
  server: net.Server,
  connect: (port: number) => Promise<{ close(): void }>,
): Promise<number> {
  server.on("connection", (socket: net.Socket) => socket.on("error", () => {}).on("end", () => socket.destroy()));
  server.on("secureConnection", (socket: tls.TLSSocket) => socket.on("error", () => {}).resume());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert(address !== null && typeof address === "object");
  const accepted = new Promise<net.Socket>((resolve) => server.once("connection", resolve));
  const connection = await connect(address.port);
  const noDelay = readOption(findDescriptor(address.port), TCP_NODELAY);
  connection.close();
  (await accepted).destroy();
  await new Promise((resolve) => server.close(resolve));
  return noDelay;
}

/** This process's descriptor of the socket that is connected to a port of this machine. */
function findDescriptor(remotePort: number): number {
  const suffix = ":" + remotePort.toString(16).toUpperCase().padStart(4, "0");
  const rows = readFileSync("/proc/self/net/tcp", "utf8").split("\n").map((row) => row.trim().split(/\s+/));
  // Columns: number, local and remote address, state, queues, timer, retransmits, user, timeout, inode.
  // Closed ones that had the same port may still be listed, with inode 0.
  const links = rows.filter((row) => row[2]?.endsWith(suffix)).map((row) => `socket:[${row[9]}]`);
  const name = readdirSync("/proc/self/fd").find((fd) => links.includes(readLink(`/proc/self/fd/${fd}`) ?? ""));
  assert(name !== undefined, "the socket is among the open files");
  return Number(name);
}

/** The listing has the descriptor that made the listing, which is closed by now. */
function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

// From netinet/in.h and netinet/tcp.h of Linux.
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_NOTSENT_LOWAT = 25;

function readOption(fd: number, option: number): number {
  const library = Deno.dlopen("libc.so.6", {
    getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  });
  const value = new Int32Array(1);
  const size = new Uint32Array([value.byteLength]);
  try {
    assert.equal(library.symbols.getsockopt(fd, IPPROTO_TCP, option, value, size), 0);
    return value[0];
  } finally {
    library.close();
  }
}

Deno.test("setForAccepted calls no library where its numbers mean something else", () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  for (const os of ["windows", "darwin"]) assert.equal(setForAccepted(listener.addr.port, 6, 1, 1, os), false);
});
