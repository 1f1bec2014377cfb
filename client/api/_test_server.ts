import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** A request that a test's server got, whole. */
export interface Got {
  method: string;
  path: string;
  authorization: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

/** What it answers: an object as JSON, with a status; or null where the test has written the answer itself. */
export type Say = (got: Got, response: ServerResponse) => readonly [status: number, body: unknown] | null;

/** A server on this machine that answers what the test says, and keeps what it got. */
export interface TestServer extends AsyncDisposable {
  url: URL;
  got: Got[];
}

/** Starts an HTTP server on a free port of 127.0.0.1 that answers as `say` has it and keeps what it got. */
export async function startTestServer(say: Say): Promise<TestServer> {
  const got: Got[] = [];
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const one: Got = { method, path: url, authorization: headers.authorization, headers, body: await text(request) };
    got.push(one);
    const said = say(one, response);
    if (said === null) return;
    const [status, body] = said;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    got,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A folder that is gone after the test. */
export function makeFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), "portway-api-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** What a server tells of its endpoints, as the path of its token endpoint and no more than is needed. */
export const metadata = (origin: string): Record<string, unknown> => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  revocation_endpoint: `${origin}/revoke`,
  device_authorization_endpoint: `${origin}/device`,
});
