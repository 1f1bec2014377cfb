/** Strangers who hold more connections than the process can have do not stop it for good. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { makeTempDir, visit, within } from "./kit.ts";

const SERVER = fileURLToPath(new URL("../server.ts", import.meta.url));
const DESCRIPTORS = 1024;

/** The server with few descriptors, and its URL. */
async function startLimited(listener: string, dataDir: string) {
  const args = ["run", "-A", SERVER, "--json", "--port", "0", "--listener", listener, "--data-dir", dataDir];
  const child = new Deno.Command("sh", {
    args: ["-c", `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`, Deno.execPath(), ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await within("the server", reader.read());
  return {
    ...JSON.parse(new TextDecoder().decode(value)) as { url: string; port: number },
    async [Symbol.asyncDispose]() {
      await reader.cancel();
      child.kill("SIGKILL");
      await child.status;
    },
  };
}

/** Connections of which nothing more is heard, until the server takes no more. */
async function exhaust(port: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let count = 0; count < 2 * DESCRIPTORS; count++) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    sockets.push(socket);
    await Promise.race([once(socket, "connect"), once(socket, "close")]).catch(() => {});
  }
  return sockets;
}

/** Resolves once nothing is loaded any more. */
async function whenLoaded(url: string): Promise<void> {
  for (const path of ["/sign-in", "/proxy/"]) await (await visit(url + path)).bytes();
}

async function whenHealthy(url: string): Promise<void> {
  for (;;) {
    const answer = await visit(`${url}/health`).catch(() => null);
    if (answer?.status === 200) return void await answer.bytes();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

for (const listener of ["edge", "deno"]) {
  Deno.test({
    name: `a server that ran out of descriptors answers again when it has some (listener ${listener})`,
    ignore: Deno.build.os === "windows",
    async fn() {
      await using data = await makeTempDir();
      await using server = await startLimited(listener, data.path);
      // Its descriptors are all taken, and Deno panics when it reads a module and has none; the edge keeps some aside.
      if (listener === "deno") await within("what is loaded behind the start", whenLoaded(server.url));
      const sockets = await exhaust(server.port);
      assert(sockets.length > DESCRIPTORS);
      for (const socket of sockets) socket.destroy();
      await within("an answer", whenHealthy(server.url));
    },
  });
}
