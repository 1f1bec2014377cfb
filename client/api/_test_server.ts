import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** A complete request that the test server received. */
export interface Got {
  method: string;
  path: string;
  authorization: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Creates the response: a status with a JSON body, or null if the test wrote the response itself. */
export type Say = (got: Got, response: ServerResponse) => readonly [status: number, body: unknown] | null;

/** A loopback HTTP server with scripted responses, which records its requests. */
export interface TestServer extends AsyncDisposable {
  url: URL;
  got: Got[];
}

/** Starts an HTTP server on a free loopback port. It records requests and responds through `say`. */
export async function startTestServer(say: Say): Promise<TestServer> {
  const got: Got[] = [];
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const one: Got = { method, path: url, authorization: headers.authorization, headers, body: await text(request) };
    got.push(one);
    const result = say(one, response);
    if (result === null) return;
    const [status, body] = result;
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

/** Creates a temporary folder that disposal removes. */
export function makeFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), "portway-api-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Returns minimal OAuth server metadata. */
export const metadata = (origin: string): Record<string, unknown> => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  revocation_endpoint: `${origin}/revoke`,
  device_authorization_endpoint: `${origin}/device`,
});
