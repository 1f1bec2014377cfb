import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { startTestProxy } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1,localhost" };
const read = (name: string) => readFileSync(new URL(`../net/connection/testdata/${name}`, import.meta.url), "utf8");

/** A server on loopback that answers every connection alike. */
async function startServer(server: net.Server) {
  const sockets = new Set<net.Socket>();
  server.on("connection", (socket: net.Socket) => sockets.add(socket.on("error", () => {})));
  server.on(
    "secureConnection",
    (socket: tls.TLSSocket) =>
      socket.on("error", () => {}).once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")),
  );
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  ok(address !== null && typeof address === "object");
  return {
    url: `https://127.0.0.1:${address.port}/`,
    port: address.port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const startTls = (name: string) =>
  startServer(tls.createServer({ key: read(`${name}.key`), cert: read(`${name}.pem`) }));

Deno.test("proxy says why there is no secure connection", async () => {
  await using proxy = await startTestProxy(ALLOW);
  await using selfSigned = await startTls("self_signed");
  await using unknown = await startTls("leaf");
  await using plain = await startServer(net.createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
  await using closing = await startServer(net.createServer((socket) => socket.destroy()));
  const cases: [url: string, details: string][] = [
    [selfSigned.url, "No trusted authority signed its certificate."],
    [unknown.url, "No trusted authority signed its certificate, or it has expired."],
    [plain.url, "It does not speak TLS at this port."],
    [closing.url, "It closed the connection during the handshake."],
  ];
  for (const [url, details] of cases) {
    const response = await proxy.request({ url });
    const { error } = await response.json();
    deepEqual([response.status, error.code, error.details], [502, "upstream_tls", details]);
  }
});

Deno.test("proxy leaves a certificate unchecked for who asks, where it may, and shares no connection with who does not", async () => {
  await using upstream = await startTls("self_signed");
  {
    await using proxy = await startTestProxy(ALLOW);
    const response = await proxy.request({ url: upstream.url, skipTlsVerify: true });
    const { error } = await response.json();
    deepEqual([response.status, error.code], [403, "tls_skip_forbidden"]);
    ok(error.details.includes("--proxy-skip-tls-verify"));
  }
  await using proxy = await startTestProxy({ ...ALLOW, proxySkipTlsVerify: "true" });
  equal((await (await proxy.request({ url: upstream.url, skipTlsVerify: true })).json()).body, "secret");
  const checked = await proxy.request({ url: upstream.url });
  equal((await checked.json()).error.code, "upstream_tls");
  equal((await (await proxy.request({ url: upstream.url, skipTlsVerify: true })).json()).body, "secret");
});
