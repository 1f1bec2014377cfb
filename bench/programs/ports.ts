import { once } from "node:events";
import { connect, createServer } from "node:net";

/** Returns a free port on 127.0.0.1, for programs that cannot choose one. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

/**
 * Waits for a listener on a 127.0.0.1 port.
 * @throws Error after ten seconds without one
 */
export async function whenListening(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await canConnect(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no program listens on port ${port}`);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
