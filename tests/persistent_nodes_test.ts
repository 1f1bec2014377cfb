/** Two servers on one database: what is changed through one holds on the other. */
import assert from "node:assert/strict";
import { makeTempDir, startSite, visit } from "./kit.ts";
import { callApi, expose, makeTunnel, startTunnelServer } from "./kit/tunnel_server.ts";

Deno.test("a tunnel that is switched off or deleted through one server ends on another within seconds", async () => {
  await using data = await makeTempDir();
  await using site = startSite();
  await using one = await startTunnelServer({ dataDir: data.path });
  await using two = await startTunnelServer({ dataDir: data.path });
  const [off, gone] = [await makeTunnel(one, "ann"), await makeTunnel(one, "ann", { name: "gone" })];
  const seenHere = (tunnel: { url: string }) => {
    const url = new URL(tunnel.url);
    url.port = new URL(two.url).port;
    return url.origin;
  };
  await using first = await expose(two, { token: "ann", tunnel: off, service: site });
  await using second = await expose(two, { token: "ann", tunnel: gone, service: site });
  assert.equal((await visit(`${seenHere(off)}/text`)).status, 200);
  await callApi(one, "ann", "PATCH", `/tunnels/${off.id}`, { enabled: false });
  await callApi(one, "ann", "DELETE", `/tunnels/${gone.id}`);
  assert.equal((await first.ended).reason, "disabled");
  assert.equal((await second.ended).reason, "removed");
  assert.equal((await visit(seenHere(off))).headers["portway-error"], "tunnel_disabled");
  assert.equal((await visit(seenHere(gone))).headers["portway-error"], "tunnel_not_found");
});
