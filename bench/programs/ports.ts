import { once } from "node:events";
import { connect, createServer } from "node:net";

/** A port of 127.0.0.1 that is free now, for programs that cannot choose one themselves. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("there is no free port");
  return address.port;
}

/**
 * Waits until something listens on a port of 127.0.0.1.
 * @throws Error when nothing does within ten seconds
 */
export async function whenListening(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await canConnect(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port}`);
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
