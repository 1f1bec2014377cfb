/** Sessions of another server: visitors of this one reach them, and nothing here knows that they are not here. */
import assert from "node:assert/strict";
import { createLogger } from "../common/log.ts";
import { resolveOptions } from "../common/options.ts";
import { serverOptions } from "../server/config.ts";
import { startServer } from "../server/main.ts";
import {
  createNoise,
  hashOf,
  makeTempDir,
  openSocket,
  startProgram,
  startSite,
  startSocketService,
  startTunnel,
  visit,
  within,
} from "./kit.ts";
import { NodePresence } from "./kit/node_presence.ts";

/** Two servers on one database: one in a process of its own, which clients connect to, and one here for visitors. */
async function startNodes() {
  const stack = new AsyncDisposableStack();
  const data = stack.use(await makeTempDir());
  const other = stack.use(startProgram({ entry: "tests/kit/node_program.ts", args: [data.path] }));
  const { url, presence: port } = await other.events.waitFor("listening");
  const presence = stack.use(new NodePresence([Number(port)]));
  const flags = { port: "0", dataDir: data.path, drainSeconds: "0", holdSeconds: "0" };
  const config = resolveOptions(serverOptions, { flags, env: {} });
  const here = await startServer(config, createLogger({ write() {} }), { presence, sharesFolder: true });
  stack.defer(() => here.close());
  return {
    other: { url: String(url), program: other },
    /** The URL by which a visitor of this server asks for a tunnel of the other. */
    through(tunnel: { url: string }): string {
      const result = new URL(tunnel.url);
      result.port = here.url.port;
      return result.origin;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("a request, an upload, events and a WebSocket reach a session of another process", async () => {
  await using nodes = await startNodes();
  await using site = startSite();
  await using sockets = await startSocketService();
  await using web = await startTunnel({ server: nodes.other, target: site });
  await using ws = await startTunnel({ server: nodes.other, target: sockets });
  const url = nodes.through(web);

  for (let count = 0; count < 3; count++) assert.equal(await (await visit(`${url}/text`)).text(), "hello");
  const noise = await (await visit(`${url}/noise?size=3000000&seed=7`)).bytes();
  assert.equal(await hashOf([noise]), await hashOf(createNoise(3_000_000, 7)));
  const upload = await visit(`${url}/upload`, { body: noise });
  assert.equal((await upload.json() as { size: number }).size, 3_000_000);

  const events = await visit(`${url}/events`);
  const pieces = events.body[Symbol.asyncIterator]();
  const read = async () => new TextDecoder().decode((await within("an event", pieces.next())).value);
  assert.match(await read(), /data/);
  site.release();
  assert.match(await read(), /data/);
  events.leave();
  const left = await visit(`${url}/events`);
  left.leave();
  await site.log.waitFor("gone /events");

  await using socket = await openSocket(`${nodes.through(ws)}/ws`);
  socket.send("to another process");
  assert.equal(await socket.next(), "to another process");
  socket.close(4001, "done");
  assert.equal((await socket.closed).code, 4001);
});

Deno.test("a tunnel of another process that ends is offline here, and one that nobody carries too", async () => {
  await using nodes = await startNodes();
  await using site = startSite();
  const tunnel = await startTunnel({ server: nodes.other, target: site });
  const url = nodes.through(tunnel);
  assert.equal((await visit(`${url}/text`)).status, 200);
  await tunnel.stop();
  await tunnel[Symbol.asyncDispose]();
  // The other server's word about it is on its way here.
  await within("that the tunnel is known to be offline", whenOffline(url));
  nodes.other.program.kill("SIGKILL");
  await nodes.other.program.ended;
  assert.equal((await visit(`${url}/text`)).headers["portway-error"], "tunnel_offline");
});

async function whenOffline(url: string): Promise<void> {
  for (;;) {
    const { status, headers } = await visit(url);
    assert.equal(status, 503);
    if (headers["portway-error"] === "tunnel_offline") return;
  }
}
