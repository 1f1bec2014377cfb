/** A server that ends TLS itself: the client trusts the authority it is given, visitors speak HTTP/1.1 and HTTP/2. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { WebSocket } from "ws";
import {
  createNoise,
  hashOf,
  makeTempDir,
  runProgram,
  startServer,
  startSite,
  startSocketService,
  startTunnel,
  toBytes,
  visit,
} from "./kit.ts";

const testdata = new URL("../net/connection/testdata/", import.meta.url);
const file = (name: string) => new URL(name, testdata).pathname;
const TLS = ["--tls-cert", file("leaf.pem"), "--tls-key", file("leaf.key")];
const TRUST = ["--ca-certs", file("ca.pem")];

/** Unchecked, as the certificate is for localhost alone and not for names below it. */
async function curl(args: string[], body?: Uint8Array<ArrayBuffer>): Promise<{ output: Uint8Array; head: string }> {
  await using folder = await makeTempDir();
  const child = new Deno.Command("curl", {
    args: ["-sS", "-k", "-D", `${folder.path}/head`, ...args],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const written = (async () => {
    if (body !== undefined) await writer.write(body);
    await writer.close();
  })();
  const { stdout, success } = await child.output();
  await written;
  assert(success, `curl ${args.join(" ")} failed`);
  return { output: stdout, head: await Deno.readTextFile(`${folder.path}/head`) };
}

for (const listener of ["edge", "deno"]) {
  Deno.test(`HTTPS: HTTP/2 and HTTP/1.1 visitors reach a tunnel (listener ${listener})`, async (t) => {
    await using site = startSite();
    await using server = await startServer({ args: [...TLS, "--listener", listener] });
    assert.match(server.url, /^https:/);
    await using tunnel = await startTunnel({ server, target: site, args: TRUST });
    assert.match(tunnel.url, /^https:\/\/[a-z0-9]+\.try\.localhost:\d+$/);
    const noise = new Uint8Array(await new Blob([...createNoise(3_000_000)]).arrayBuffer());

    for (const [flag, version] of [["--http2", "HTTP/2 200"], ["--http1.1", "HTTP/1.1 200"]]) {
      await t.step(`${version}: the page, its cookies, a large body down and one up`, async () => {
        const page = await curl([flag, `${tunnel.url}/text`]);
        assert.equal(new TextDecoder().decode(page.output), "hello");
        assert(page.head.startsWith(version), page.head);
        const cookies = await curl([flag, `${tunnel.url}/cookies`]);
        assert.equal(cookies.head.match(/^set-cookie:/gim)?.length, 3, cookies.head);
        const down = await curl([flag, `${tunnel.url}/noise?size=3000000`]);
        assert.equal(await hashOf([down.output]), await hashOf([noise]));
        const up = await curl([flag, "-X", "POST", "-T", "-", `${tunnel.url}/upload`], noise);
        assert.deepEqual(JSON.parse(new TextDecoder().decode(up.output)), {
          size: noise.length,
          sha256: await hashOf([noise]),
        });
      });

      await t.step(
        `${version}: a request without a body has none for the service, one of unknown length has it all`,
        async () => {
          for (const method of ["OPTIONS", "DELETE"]) {
            const { output } = await curl([flag, "-X", method, `${tunnel.url}/inspect`]);
            const { headers } = JSON.parse(new TextDecoder().decode(output));
            assert.equal(new Headers(headers).get("transfer-encoding"), null, method);
          }
          const sent = await curl([flag, "-X", "DELETE", "-T", "-", `${tunnel.url}/upload`], toBytes("gone"));
          assert.equal(JSON.parse(new TextDecoder().decode(sent.output)).size, 4);
        },
      );

      await t.step(`${version}: the service sees the tunnel's host and https`, async () => {
        const { output } = await curl([flag, "-H", "x-forwarded-proto: http", `${tunnel.url}/inspect?a=%2F`]);
        const { url, headers } = JSON.parse(new TextDecoder().decode(output));
        const fields = new Headers(headers);
        assert(url.endsWith("/inspect?a=%2F"), url);
        assert.equal(fields.get("x-forwarded-proto"), "https");
        assert.equal(fields.get("x-forwarded-host"), new URL(tunnel.url).host);
      });
    }
    assert.equal((await tunnel.stop()).code, 0);
  });
}

Deno.test("HTTPS: a WebSocket passes", async () => {
  await using service = await startSocketService();
  await using server = await startServer({ args: TLS });
  await using tunnel = await startTunnel({ server, target: service, args: TRUST });
  const socket = new WebSocket(`wss://127.0.0.1:${server.port}/ws`, {
    headers: { host: new URL(tunnel.url).host },
    rejectUnauthorized: false,
  });
  await once(socket, "open");
  socket.send(toBytes("through TLS"));
  const [data] = await once(socket, "message");
  assert.equal(String(data), "through TLS");
  socket.close(4000, "done");
  await service.log.waitFor("closed 4000 done");
});

Deno.test("HTTPS: a server whose authority the client does not know is refused in one line", async () => {
  await using server = await startServer({ args: TLS });
  await using config = await makeTempDir();
  const args = ["-e", "3000", "--server", server.url, "--config-dir", config.path];
  const { code, errors } = await runProgram({ entry: "cli.ts", args });
  assert.equal(code, 1);
  assert.match(errors, /certificate|issuer|authority/i);
  assert.equal(errors.split("\n").length, 1, errors);
});

Deno.test("HTTPS: a local service that speaks it, exposed as if it did not, is found out", async () => {
  const options = { key: readFileSync(file("self_signed.key")), cert: readFileSync(file("self_signed.pem")) };
  const service = createServer(options, (_, response) => response.end("hello"));
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const { port } = service.address() as AddressInfo;
  await using server = await startServer();
  await using wrong = await startTunnel({ server, target: port });
  assert.equal((await visit(wrong.url)).status, 502);
  const { text } = await wrong.events.waitFor("note");
  assert.equal(text, `http://localhost:${port} speaks HTTPS. Stop this tunnel and use -e https://localhost:${port}`);
  await using right = await startTunnel({ server, target: `https://localhost:${port}` });
  assert.equal(await (await visit(right.url)).text(), "hello");
  service.close();
  service.closeAllConnections();
});

Deno.test("HTTPS: a local service that speaks no HTTPS is said to", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: `https://localhost:${site.port}` });
  const answer = await visit(tunnel.url, { headers: { accept: "application/json" } });
  assert.equal(answer.status, 502);
  assert.match(await answer.text(), /does not speak TLS/);
});

Deno.test("HTTPS: the API answers who trusts the authority", async () => {
  await using server = await startServer({ args: TLS });
  const ca = await Deno.readTextFile(file("ca.pem"));
  assert.equal((await visit(`${server.url}/health`, { ca })).status, 200);
});
