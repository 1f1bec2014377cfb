/**
 * Heads that two readers could understand differently, by raw sockets on both ends and by both listeners: exactly one
 * request, or 400, reaches the local service, and nothing but the Host header decides which service that is.
 */
import assert from "node:assert/strict";
import { type Attack, ATTACKS } from "../net/listener/_attacks.ts";
import {
  openRaw,
  type RawMessage,
  type Recorder,
  type Server,
  startRecorder,
  startServer,
  startTunnel,
} from "./kit.ts";

interface Parts {
  server: Server;
  recorder: Recorder;
  /** Of the tunnel under attack. */
  host: string;
  /** A tunnel of somebody else. */
  other: Recorder;
  otherHost: string;
}

/** Bytes on a connection of their own; a request that passes by another way tells that they have had their time. */
async function attack(one: Attack, parts: Parts, listener: string): Promise<void> {
  const { server, recorder, other, host, otherHost } = parts;
  const before = recorder.requests.length;
  const name = (text: string) => text.replaceAll("HOST", host).replaceAll("OTHER", otherHost);
  await using raw = await openRaw(server.port);
  raw.write(name(one.bytes));
  raw.end();
  const answered = await raw.readToEnd();
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(answered)?.[1] ?? 0);
  // Deno drops who ends their side before the answer.
  const isEdge = listener === "edge",
    statuses = isEdge ? one.statuses : [...one.statuses, 400, 0, ...one.deno?.statuses ?? []];
  assert(statuses.includes(status), `the answer was ${JSON.stringify(answered.slice(0, 300))}`);
  await assertAlive(parts, recorder, host);
  await assertAlive(parts, other, otherHost);
  const arrived = recorder.requests.slice(before).filter(({ startLine }) => !startLine.includes("/alive"));
  const lines = arrived.map(({ startLine }) => startLine), reaches = (one.reaches ?? []).map(name);
  const allowed = isEdge ? reaches : [...reaches, ...one.deno?.reaches ?? []];
  if (isEdge) assert.deepEqual(lines, reaches);
  for (const line of lines) assert(allowed.includes(line), `${line} arrived`);
  for (const message of arrived) assertPlain(message);
  assert.deepEqual(other.requests.filter(({ startLine }) => !startLine.includes("/alive")), [], "the other tunnel");
}

let alive = 0;

async function assertAlive({ server }: Parts, recorder: Recorder, host: string): Promise<void> {
  await using raw = await openRaw(server.port);
  const line = `GET /alive/${alive++} HTTP/1.1`;
  raw.write(`${line}\r\nHost: ${host}\r\n\r\n`);
  assert.equal((await raw.read()).status, 200);
  await recorder.waitFor(({ startLine }) => startLine === line);
}

/** What reached the service can be read in one way only. */
function assertPlain({ raw, fields }: RawMessage): void {
  const head = raw.slice(0, raw.indexOf("\r\n\r\n"));
  assert(!/\0|[^\r]\n|\r[^\n]|\r\n[ \t]/.test(head), `the head is ${JSON.stringify(head)}`);
  const count = (name: string) => fields.filter(([field]) => field.toLowerCase() === name).length;
  assert.equal(count("host"), 1);
  assert(count("content-length") + count("transfer-encoding") <= 1);
  assert(!fields.some(([name, value]) => name.toLowerCase() === "upgrade" && /h2c/i.test(value)), "h2c");
  assert.equal(count("http2-settings"), 0);
}

for (const listener of ["edge", "deno"]) {
  Deno.test(`exactly one request or none passes, whatever a head says (listener ${listener})`, async (t) => {
    await using recorder = await startRecorder();
    await using other = await startRecorder();
    await using server = await startServer({ args: ["--listener", listener] });
    await using tunnel = await startTunnel({ server, target: recorder });
    await using otherTunnel = await startTunnel({ server, target: other });
    const [host, otherHost] = [tunnel, otherTunnel].map(({ url }) => new URL(url).host);
    const parts = { server, recorder, other, host, otherHost };
    for (const one of ATTACKS) await t.step(one.what, () => attack(one, parts, listener));
    await server.whenHealth(({ streams }) => streams === 0);
  });
}

Deno.test("what the local service sends cannot add an answer or a field to another one", async (t) => {
  const answers: Record<string, string> = {
    "/crlf": "HTTP/1.1 200 OK\r\nx: a\rset-cookie: b=1\r\ncontent-length: 0\r\n\r\n",
    "/nul": "HTTP/1.1 200 OK\r\nx: a\x00b\r\ncontent-length: 0\r\n\r\n",
    "/both":
      "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "/more": "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged",
  };
  await using recorder = await startRecorder({
    answer: ({ startLine }) => answers[startLine.split(" ")[1]] ?? "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine",
  });
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: recorder });
  for (const path of Object.keys(answers)) {
    await t.step(path, async () => {
      await using raw = await openRaw(server.port);
      raw.write(`GET ${path} HTTP/1.1\r\nHost: ${new URL(tunnel.url).host}\r\n\r\n`);
      const { status, fields } = await raw.read();
      assert.equal(status, path === "/more" ? 200 : 502);
      assert(!fields.some(([name]) => name.toLowerCase() === "set-cookie"));
      raw.write(`GET /next HTTP/1.1\r\nHost: ${new URL(tunnel.url).host}\r\n\r\n`);
      assert.equal(new TextDecoder().decode((await raw.read()).body), "fine");
    });
  }
});
