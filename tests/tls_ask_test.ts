/** What a proxy in front may get certificates for. */
import assert from "node:assert/strict";
import { startServer, startSite, startTunnel, visit } from "./kit.ts";

Deno.test("certificates are for the server itself and for tunnels that there are, and for no other name", async () => {
  await using server = await startServer();
  await using site = startSite();
  await using tunnel = await startTunnel({ server, target: site });
  const ask = async (domain: string) => {
    const answer = await visit(`${server.url}/api/v1/tls-ask?domain=${encodeURIComponent(domain)}`);
    await answer.bytes();
    return answer.status;
  };
  const { hostname } = new URL(tunnel.url);
  assert.deepEqual([await ask(hostname), await ask(new URL(server.url).hostname)], [200, 200]);
  const others = [hostname.replace(/^[^.]+/, "nothing-here"), "example.com", `x.${hostname}`, "", "a b", "[::1]"];
  for (const domain of others) assert.equal(await ask(domain), 404, domain);
});
