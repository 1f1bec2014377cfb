/** `deploy/Caddyfile` in Debian's Caddy, with an authority of its own and other ports: all that passes a proxy in front. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { connect } from "node:tls";
import { WebSocket } from "ws";
import { startCaddy } from "./kit/caddy.ts";
import { findFreePort } from "./kit/free_port.ts";
import {
  createNoise,
  hashOf,
  isThere,
  makeTempDir,
  startServer,
  startSite,
  startSocketService,
  startTunnel,
  toBytes,
  visit,
} from "./kit.ts";

const SIZE = 50_000_000;
const ignore = !await isThere("caddy", ["version"], "a server behind Caddy");

/** Whether Caddy has a certificate for a name. */
async function handshake(port: number, servername: string, ca: string): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port, servername, ca });
  try {
    await once(socket, "secureConnect");
    return socket.authorized;
  } catch (error) {
    assert(error instanceof Error && /alert|reset|disconnected/i.test(error.message), String(error));
    return false;
  } finally {
    socket.destroy();
  }
}

Deno.test({ name: "behind Caddy everything passes, and only names of tunnels get certificates", ignore }, async (t) => {
  await using folder = await makeTempDir();
  const [port, behind] = [findFreePort(), findFreePort()];
  const args = ["--url", `https://localhost:${port}`, "--trusted-proxies", "127.0.0.1,::1"];
  await using caddy = await startCaddy(folder.path, behind, port);
  const { ca, caFile } = caddy;
  await using _server = await startServer({ port: behind, args });
  await using site = startSite();
  const server = `https://localhost:${port}`;
  await using tunnel = await startTunnel({ server, target: site, args: ["--ca-certs", caFile] });
  const { host, hostname } = new URL(tunnel.url);

  await t.step("the client's session, and a page for a visitor", async () => {
    assert.match(tunnel.url, new RegExp(`^https://[a-z0-9]+\\.try\\.localhost:${port}$`));
    assert.equal(await (await visit(`${tunnel.url}/text`, { ca })).text(), "hello");
    assert.equal((await visit(`${server}/sign-in`, { ca })).status, 200);
  });
  await t.step("a certificate for a tunnel, and for no other name", async () => {
    assert.equal(await handshake(port, hostname, ca), true);
    for (const name of [hostname.replace(/^[^.]+/, "nothing-here"), `x.${hostname}`, "example.com"]) {
      assert.equal(await handshake(port, name, ca), false, name);
    }
  });
  await t.step("the service sees the visitor's address, host and https, whatever the visitor says", async () => {
    const told = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "http" };
    const { headers } = await (await visit(`${tunnel.url}/inspect`, { ca, headers: told })).json() as {
      headers: [string, string][];
    };
    const fields = new Headers(headers);
    assert.equal(fields.get("x-forwarded-proto"), "https");
    assert.equal(fields.get("x-forwarded-host"), host);
    assert.equal(fields.get("x-forwarded-for"), "127.0.0.1");
  });
  await t.step("50 MB up and down, by HTTP/1.1 and HTTP/2", async () => {
    const expected = await hashOf(createNoise(SIZE)), noise = join(folder.path, "noise");
    await Deno.writeFile(noise, ReadableStream.from(createNoise(SIZE)));
    const resolve = ["--resolve", `${hostname}:${port}:127.0.0.1`, "--cacert", caFile];
    for (const version of ["--http1.1", "--http2"]) {
      const curl = async (...rest: string[]) => {
        const options = ["-sS", version, ...resolve, "-w", "%{stderr}%{http_version} %{http_code}", ...rest];
        const { stdout, stderr } = await new Deno.Command("curl", { args: options }).output();
        assert.equal(new TextDecoder().decode(stderr), version === "--http2" ? "2 200" : "1.1 200");
        return stdout;
      };
      const up = await curl("-X", "POST", "-T", noise, `${tunnel.url}/upload`);
      assert.deepEqual(JSON.parse(new TextDecoder().decode(up)), { size: SIZE, sha256: expected });
      assert.equal(await hashOf([await curl(`${tunnel.url}/noise?size=${SIZE}`)]), expected);
    }
  });
  await t.step("events one by one", async () => {
    const events = await visit(`${tunnel.url}/events`, { ca });
    for await (const piece of events.body) {
      assert.match(new TextDecoder().decode(piece), /^data: /);
      break;
    }
    events.leave();
  });
  await t.step("a WebSocket, with its close code", async () => {
    await using service = await startSocketService();
    await using other = await startTunnel({ server, target: service, args: ["--ca-certs", caFile] });
    const { host, hostname: servername } = new URL(other.url);
    const createConnection = () => connect({ host: "127.0.0.1", port, servername, ca });
    const socket = new WebSocket(`wss://127.0.0.1:${port}/ws`, { headers: { host }, createConnection });
    await once(socket, "open");
    socket.send(toBytes("through Caddy"));
    assert.equal(String((await once(socket, "message"))[0]), "through Caddy");
    socket.close(4000, "done");
    await service.log.waitFor("closed 4000 done");
  });
  await t.step("an ended tunnel's visitors are told so", async () => {
    assert.equal((await tunnel.stop()).code, 0);
    const { status } = await visit(`${tunnel.url}/`, { ca });
    assert(status === 404 || status === 503, String(status));
  });
});
