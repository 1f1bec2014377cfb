/** `OPTIONS *` asks about a server in general (RFC 9110, section 9.3.7): each kind of target responds to it. */
import assert from "node:assert/strict";
import { makeTempDir, rawRequest, startRecorder, startServer, startTunnel } from "./kit.ts";

Deno.test("OPTIONS * is answered by the server, a share and a site, and reaches a service unchanged", async () => {
  await using folder = await makeTempDir();
  await using recorder = await startRecorder({ answer: () => "HTTP/1.1 204 No Content\r\nallow: GET\r\n\r\n" });
  await using server = await startServer();
  await using service = await startTunnel({ server, target: recorder });
  await using share = await startTunnel({ server, args: ["-f", folder.path] });
  await using site = await startTunnel({ server, args: ["-w", folder.path] });
  const ask = async (host: string) => {
    const { status, header } = await rawRequest(server.port, `OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    return { status, allow: header("allow") };
  };
  assert.deepEqual(await ask(new URL(service.url).host), { status: 204, allow: "GET" });
  assert.equal((await recorder.waitFor(() => true)).startLine, "OPTIONS * HTTP/1.1");
  assert.deepEqual(await ask(new URL(site.url).host), { status: 204, allow: "GET, HEAD, OPTIONS" });
  for (const host of [new URL(share.url).host, "localhost"]) {
    const { status, allow } = await ask(host);
    assert([200, 204].includes(status), `${host}: ${status}`);
    assert.match(allow ?? "", /\bGET, HEAD\b.*\bOPTIONS\b/, host);
  }
});
