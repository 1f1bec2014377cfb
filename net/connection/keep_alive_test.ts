import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import net from "node:net";
import { openDenoAcceptor } from "./deno.ts";
import { openNodeAcceptor } from "./node.ts";

for (const [name, openAcceptor] of Object.entries({ deno: openDenoAcceptor, node: openNodeAcceptor })) {
  Deno.test({
    name: `${name} acceptor: the system asks after a silent peer once it was told to`,
    // Its timers are told in /proc.
    ignore: Deno.build.os !== "linux",
    async fn() {
      const acceptor = await openAcceptor({ hostname: "127.0.0.1", port: 0 });
      const peer = net.connect(acceptor.port, "127.0.0.1");
      const accepted = await acceptor.accept();
      assert(accepted !== null);
      const { connection } = accepted;
      try {
        assert.notEqual(readTimer(acceptor.port), KEEP_ALIVE);
        connection.keepAlive?.();
        assert.equal(readTimer(acceptor.port), KEEP_ALIVE);
        connection.close();
        connection.keepAlive?.();
      } finally {
        connection.close();
        peer.destroy();
        acceptor.close();
      }
    },
  });
}

/** In /proc/net/tcp, the timer that asks silent peers. */
const KEEP_ALIVE = "02";
const ESTABLISHED = "01";

/** Which timer runs for the one connection that was accepted on a port. */
function readTimer(port: number): string {
  const suffix = ":" + port.toString(16).toUpperCase().padStart(4, "0");
  // Columns: number, local and remote address, state, queues, timer:when.
  const rows = readFileSync("/proc/self/net/tcp", "utf8").split("\n").map((row) => row.trim().split(/\s+/));
  const row = rows.find((columns) => columns[1]?.endsWith(suffix) && columns[3] === ESTABLISHED);
  assert(row !== undefined, "the connection is among those of the system");
  return row[5].split(":")[0];
}
