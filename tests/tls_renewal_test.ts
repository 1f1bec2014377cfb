/** Certificates that are renewed while the server runs. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { makeTempDir, type Server, startServer, startSite, startTunnel } from "./kit.ts";

const testdata = new URL("../net/connection/testdata/", import.meta.url);
const file = (name: string) => new URL(name, testdata).pathname;

/** Whose certificate new connections get, and the protocol that was agreed on. */
async function look({ port }: Server, protocol: string): Promise<{ issuer: string; protocol: string | false | null }> {
  const socket = connect({
    port,
    host: "127.0.0.1",
    servername: "localhost",
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
  });
  await once(socket, "secureConnect");
  const found = { issuer: String(socket.getPeerCertificate().issuer.CN), protocol: socket.alpnProtocol };
  socket.destroy();
  return found;
}

async function askOverTls(url: string, version: string): Promise<string> {
  const command = new Deno.Command("curl", { args: ["-sS", "-k", version, url] });
  const { stdout, stderr } = await command.output();
  return new TextDecoder().decode(stdout) || new TextDecoder().decode(stderr);
}

async function startSecured(folder: string, args: string[] = []): Promise<Server> {
  await copyFile(file("leaf.pem"), join(folder, "cert.pem"));
  await copyFile(file("leaf.key"), join(folder, "key.pem"));
  const tls = ["--tls-cert", join(folder, "cert.pem"), "--tls-key", join(folder, "key.pem")];
  return await startServer({ args: [...tls, ...args] });
}

Deno.test("a renewed certificate is used without a restart, and what is open goes on", async () => {
  await using folder = await makeTempDir();
  await using site = startSite();
  await using server = await startSecured(folder.path);
  await using tunnel = await startTunnel({ server, target: site, args: ["--ca-certs", file("ca.pem")] });
  const before = await look(server, "http/1.1");

  await copyFile(file("self_signed.pem"), join(folder.path, "cert.pem"));
  assert.match(await server.errors.waitFor("certificate_not_renewed"), /private key does not match the certificate/);
  assert.deepEqual(await look(server, "http/1.1"), before);
  await copyFile(file("self_signed.key"), join(folder.path, "key.pem"));
  await server.errors.waitFor("certificate_renewed");

  const after = await look(server, "http/1.1");
  assert.notEqual(after.issuer, before.issuer);
  assert.deepEqual([after.protocol, (await look(server, "h2")).protocol], ["http/1.1", "h2"]);
  for (const version of ["--http1.1", "--http2"]) {
    assert.equal(await askOverTls(`${tunnel.url}/text`, version), "hello");
  }
  const health = JSON.parse(await askOverTls(`${server.url}/health`, "--http2")) as { sessions: number };
  assert.equal(health.sessions, 1);
  assert.deepEqual(tunnel.events.all().filter(({ event }) => event === "reconnecting"), []);
  assert.doesNotMatch(server.errors.text, /accept_failed|defect/);
});

Deno.test("a certificate that is broken leaves the one of before, and is told of once", async () => {
  await using folder = await makeTempDir();
  await using server = await startSecured(folder.path);
  const before = await look(server, "h2");
  const text = await readFile(join(folder.path, "cert.pem"), "utf8");
  await writeFile(join(folder.path, "cert.pem"), text.slice(0, 100));
  await server.errors.waitFor("certificate_not_renewed");
  assert.deepEqual(await look(server, "h2"), before);
  await writeFile(join(folder.path, "cert.pem"), text);
  await server.errors.waitFor("certificate_renewed");
  assert.deepEqual(await look(server, "h2"), before);
  assert.equal(server.errors.text.match(/certificate_not_renewed/g)?.length, 1);
});

Deno.test("the runtime's own listener says that it takes a renewed certificate at its next start", async () => {
  await using folder = await makeTempDir();
  await using server = await startSecured(folder.path, ["--listener", "deno"]);
  await copyFile(file("self_signed.pem"), join(folder.path, "cert.pem"));
  await copyFile(file("self_signed.key"), join(folder.path, "key.pem"));
  assert.match(await server.errors.waitFor("certificate_not_renewed"), /uses it after a restart/);
});
