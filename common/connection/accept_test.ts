import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { openAcceptor } from "./open_acceptor.ts";

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
