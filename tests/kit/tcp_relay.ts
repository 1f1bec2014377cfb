import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";

export interface TcpRelayOptions {
  /** Every byte arrives this much later, each way. */
  delayMs?: number;
}

/** A network between two programs that can be cut. */
export interface TcpRelay extends AsyncDisposable {
  readonly port: number;
  /**
   * From now on nothing passes. `silent`: connections stay, bytes wait, as when a cable is pulled; `reset`:
   * connections end at once, new ones too.
   */
  cut(kind: "silent" | "reset"): void;
  /** Everything passes again, what waited first. */
  mend(): void;
  /** Connections that are open now. */
  readonly connections: number;
}

/** Listens on a free port of this machine and passes everything on to another. */
export async function startTcpRelay(toPort: number, { delayMs = 0 }: TcpRelayOptions = {}): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  let state: "open" | "silent" | "reset" = "open";
  let mended = Promise.withResolvers<void>();
  mended.resolve();

  const passing = async () => {
    while (state !== "open") await mended.promise;
  };

  function mend(): void {
    state = "open";
    mended.resolve();
  }

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket));
    // An end that is not orderly is passed on as one: the other side's socket is destroyed with this one.
    socket.on("error", () => socket.destroy());
  }

  const server = createServer({ allowHalfOpen: true }, async (near) => {
    keep(near);
    if (state === "reset") return near.destroy();
    await passing();
    const far = connect({ port: toPort, host: "127.0.0.1", allowHalfOpen: true });
    keep(far);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    pass(near, far, delayMs, passing);
    pass(far, near, delayMs, passing);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the relay has no port");

  return {
    port: address.port,
    get connections() {
      return sockets.size / 2;
    },
    cut(kind) {
      if (state === "open") mended = Promise.withResolvers();
      state = kind;
      if (kind === "reset") { for (const socket of sockets) socket.resetAndDestroy(); }
    },
    mend,
    async [Symbol.asyncDispose]() {
      mend();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Passes bytes on, later by the delay and in order, with back-pressure. */
async function pass(from: Socket, to: Socket, delayMs: number, passing: () => Promise<void>): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  const later = (run: () => unknown) => {
    const due = delayMs === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, delayMs));
    last = last.then(() => due).then(passing).then(run);
    return last;
  };
  try {
    for await (const bytes of from) {
      const sent = later(async () => {
        if (!to.destroyed && !to.write(bytes)) await Promise.race([once(to, "drain"), once(to, "close")]);
      });
      // A delay must not become a limit of throughput, so only an undelayed way waits for each piece.
      if (delayMs === 0) await sent;
    }
    await later(() => to.end());
  } catch {
    // The connection broke: both sides are destroyed by their close events.
  }
}
