import { equal, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createServer, type Server } from "node:net";
import { openConnector } from "../../net/connection/mod.ts";
import { type CaptureRecord, deliver, NotDelivered } from "./mod.ts";

const CAPTURE: CaptureRecord = {
  id: "7",
  cursor: 7,
  receivedAt: "2026-01-31T12:00:00.000Z",
  method: "PURGE",
  host: "api.example",
  path: "/req/0123/a%2Fb/\xe9",
  query: "n=1?",
  httpVersion: "1.1",
  headers: [
    ["hOST", "api.example"],
    ["X-Sig", "a=1"],
    ["x-sig", "b=\xff"],
    ["Connection", "keep-alive, X-Hop"],
    ["x-hop", "1"],
    ["Transfer-Encoding", "chunked"],
    ["Expect", "100-continue"],
    ["Content-Type", "x/y"],
  ],
  address: "192.0.2.1",
  bodySize: 5,
  contentType: "x/y",
  body: null,
};

async function* chunks(...texts: string[]) {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text, "latin1"));
}

/** Takes one request, answers it, and tells what came. */
async function withService(answer: string, run: (port: number) => Promise<unknown>): Promise<string> {
  let came = "";
  const server: Server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      came += Buffer.from(chunk).toString("latin1");
      if (came.endsWith("END")) socket.end(Buffer.from(answer, "latin1"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  try {
    await run(typeof address === "object" && address !== null ? address.port : 0);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
  return came;
}

const send = (port: number, changes: Partial<Parameters<typeof deliver>[0]> = {}) =>
  deliver({
    connect: openConnector(),
    service: new URL(`http://127.0.0.1:${port}/`),
    viewId: "0123",
    timeoutMs: 60_000,
    capture: CAPTURE,
    body: chunks("\xff\0", "END"),
    hostHeader: `127.0.0.1:${port}`,
    signal: new AbortController().signal,
    ...changes,
  });

Deno.test("a capture is delivered as it came, but for the fields of its connection", async () => {
  let port = 0;
  const came = await withService("HTTP/1.1 202 Fine\r\nContent-Length: 2\r\n\r\nok", async (at) => {
    port = at;
    const { status, statusText, body, size } = await send(at);
    equal(`${status} ${statusText} ${new TextDecoder().decode(body.bytes)} ${size}`, "202 Fine ok 2");
  });
  equal(
    came,
    `PURGE /a%2Fb/\xe9?n=1? HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Sig: a=1\r\nx-sig: b=\xff\r\nContent-Type: x/y\r\n` +
      "Portway-Capture: 0123\r\nConnection: close\r\nContent-Length: 5\r\n\r\n\xff\0END",
  );
});

Deno.test("a path of the target comes first, and the Host may stay the one of the capture", async () => {
  const came = await withService(
    "HTTP/1.1 204 No Content\r\n\r\n",
    (port) => send(port, { service: new URL(`http://127.0.0.1:${port}/hooks/`), hostHeader: null }),
  );
  equal(came.split("\r\n").slice(0, 2).join("\n"), "PURGE /hooks/a%2Fb/\xe9?n=1? HTTP/1.1\nHost: api.example");
});

Deno.test("a service that is not there, or gives no answer, is told in one line", async () => {
  await rejects(send(1), (error) => error instanceof NotDelivered && /Capture 7 was not delivered/.test(error.message));
  await withService("nonsense\r\n\r\n", async (port) => {
    await rejects(send(port), NotDelivered);
  });
});
