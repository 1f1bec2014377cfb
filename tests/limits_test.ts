/** What strangers may take of a server, and that the limit is where it is said to be. */
import assert from "node:assert/strict";
import { startServer, startSite, startTunnel, visit, within } from "./kit.ts";

Deno.test("ephemeral tunnels have a limit altogether", async () => {
  await using server = await startServer({ args: ["--max-tunnels", "2"] });
  const create = () => visit(`${server.url}/api/v1/tunnels/ephemeral`, { method: "POST" });
  const statuses = [(await create()).status, (await create()).status];
  const refused = await create();
  assert.deepEqual([...statuses, refused.status, refused.headers["portway-error"]], [201, 201, 503, "no_tunnels_left"]);
});

Deno.test("visitors behind a trusted proxy have their limit each, by their own addresses", async () => {
  await using site = startSite();
  await using server = await startServer({
    args: ["--trusted-proxies", "127.0.0.1", "--max-connections-per-address", "2"],
  });
  await using tunnel = await startTunnel({ server, target: site });
  const from = (address: string, path: string) =>
    visit(`${tunnel.url}${path}`, { headers: { "x-forwarded-for": address } });
  const held = [from("192.0.2.1", "/hold"), from("192.0.2.1", "/hold")];
  await server.whenHealth(({ streams }) => streams === 2);
  const refused = await from("192.0.2.1", "/");
  assert.deepEqual([refused.status, refused.headers["portway-error"]], [429, "too_many_requests"]);
  assert.equal((await from("192.0.2.2", "/")).status, 200);
  site.release();
  for (const answer of held) assert.equal(await (await answer).text(), "released");
  assert.equal((await from("192.0.2.1", "/")).status, 200);
});

Deno.test("an upload beyond a tunnel's traffic is cut where the limit is", async () => {
  const limit = 2_000_000;
  let received = 0;
  const seen = Promise.withResolvers<void>();
  const service = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    try {
      for await (const piece of request.body ?? []) received += piece.length;
    } catch {
      // It is cut off, which is what is tested.
    }
    seen.resolve();
    return new Response("done");
  });
  await using server = await startServer({ args: ["--ephemeral-bytes", String(limit)] });
  await using tunnel = await startTunnel({ server, target: service.addr.port });
  const upload = visit(`${tunnel.url}/`, { body: new Uint8Array(20_000_000) }).catch(() => null);
  await within("the end of the upload", seen.promise);
  assert(received > limit / 2 && received <= limit, `${received} bytes passed`);
  await upload;
  await service.shutdown();
});

Deno.test("who was refused is not remembered: the next one with the same address and port is answered", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site });
  const { hostname, port } = new URL(tunnel.url);
  const refused = `http://nobody.${hostname.slice(hostname.indexOf(".") + 1)}:${port}/`;
  for (let count = 0; count < 50; count++) {
    assert.equal((await visit(refused, { body: new Uint8Array(1000) })).status, 404);
    assert.equal((await visit(tunnel.url)).status, 200);
  }
});
