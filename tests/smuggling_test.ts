/**
 * Heads that two readers could understand differently, by raw sockets on both ends and by both listeners: exactly one
 * request, or 400, reaches the local service, and nothing but the Host header decides which service that is.
 */
import assert from "node:assert/strict";
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

interface Attack {
  what: string;
  /** HOST and OTHER stand for the two tunnels' hosts. */
  bytes: string;
  /** Statuses of the first answer that are right; 0 for a connection that ends without one. */
  statuses: readonly number[];
  /** Requests that may reach the service, by their start lines; none when not given. */
  reaches?: readonly string[];
}

const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: HOST\r\n\r\n";
const REFUSED = [400, 0];

const post = (fields: string, body: string) => `POST /outer HTTP/1.1\r\nHost: HOST\r\n${fields}\r\n${body}`;

const ATTACKS: readonly Attack[] = [
  {
    what: "Content-Length and Transfer-Encoding",
    bytes: post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
  },
  {
    what: "Transfer-Encoding and Content-Length",
    bytes: post("Transfer-Encoding: chunked\r\nContent-Length: 100\r\n", `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
  },
  {
    what: "two equal lengths",
    bytes: post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
    statuses: [200, ...REFUSED],
    reaches: ["POST /outer HTTP/1.1"],
  },
  {
    what: "two different lengths",
    bytes: post("Content-Length: 0\r\nContent-Length: 44\r\n", SMUGGLED),
    statuses: REFUSED,
  },
  { what: "a list of lengths", bytes: post("Content-Length: 5, 44\r\n", `hello${SMUGGLED}`), statuses: REFUSED },
  ...["+5", "-1", "5 5", "0x5", "5;", "1e1", "", "99999999999999999999999999"].map((length) => ({
    what: `the length "${length}"`,
    bytes: post(`Content-Length: ${length}\r\n`, `hello${SMUGGLED}`),
    statuses: REFUSED,
  })),
  ...[
    "xchunked",
    "chunked, identity",
    "identity",
    "chunked, chunked",
    "chunked\x0b",
    '"chunked"',
    "chunked;q=1",
    "",
  ].map((coding) => ({
    what: `the transfer coding ${JSON.stringify(coding)}`,
    bytes: post(`Transfer-Encoding: ${coding}\r\n`, `0\r\n\r\n${SMUGGLED}`),
    statuses: [...REFUSED, 501],
  })),
  ...[
    "Transfer-Encoding : chunked",
    " Transfer-Encoding: chunked",
    "Transfer\x00-Encoding: chunked",
    "Transfer-Encoding\t: chunked",
  ].map((
    line,
  ) => ({
    what: `the line ${JSON.stringify(line)}`,
    bytes: post(`${line}\r\nContent-Length: 44\r\n`, `0\r\n\r\n${SMUGGLED}`.slice(0, 44)),
    statuses: REFUSED,
  })),
  {
    what: "a transfer coding in a folded line",
    bytes: post("Transfer-Encoding:\r\n chunked\r\nContent-Length: 44\r\n", `0\r\n\r\n${SMUGGLED}`.slice(0, 44)),
    statuses: REFUSED,
  },
  {
    what: "a transfer coding that we cannot take off",
    bytes: post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
    statuses: [400, 501],
  },
  { what: "a folded field", bytes: "GET /outer HTTP/1.1\r\nHost: HOST\r\nX: a\r\n b\r\n\r\n", statuses: REFUSED },
  {
    what: "a field before the first line's end",
    bytes: "GET /outer HTTP/1.1\r\n X: a\r\nHost: HOST\r\n\r\n",
    statuses: REFUSED,
  },
  ...["z", "-5", "0x5", "ffffffffffffffffff"].map((size) => ({
    what: `the chunk size "${size}"`,
    bytes: post("Transfer-Encoding: chunked\r\n", `${size}\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
    // The head is fine and may have gone ahead: what reaches the service is never complete.
    statuses: [...REFUSED, 502],
    reaches: [],
  })),
  {
    what: "a space behind the chunk size",
    bytes: post("Transfer-Encoding: chunked\r\n", "5 \r\nhello\r\n0\r\n\r\n"),
    statuses: [200, ...REFUSED],
    reaches: ["POST /outer HTTP/1.1"],
  },
  { what: "two hosts", bytes: "GET /outer HTTP/1.1\r\nHost: HOST\r\nHost: OTHER\r\n\r\n", statuses: REFUSED },
  { what: "a list of hosts", bytes: "GET /outer HTTP/1.1\r\nHost: HOST, OTHER\r\n\r\n", statuses: REFUSED },
  {
    what: "no host",
    bytes: "GET /outer HTTP/1.1\r\nX-Forwarded-Host: HOST\r\n\r\n",
    // Deno's listener cannot tell it from HTTP/1.0, where that is no fault: then it is a request to nobody's tunnel.
    statuses: [404, ...REFUSED],
  },
  { what: "a host with a path", bytes: "GET /outer HTTP/1.1\r\nHost: HOST/OTHER\r\n\r\n", statuses: REFUSED },
  { what: "a host with credentials", bytes: "GET /outer HTTP/1.1\r\nHost: HOST@OTHER\r\n\r\n", statuses: REFUSED },
  {
    what: "an absolute target of another host",
    bytes: "GET http://OTHER/outer HTTP/1.1\r\nHost: HOST\r\n\r\n",
    statuses: REFUSED,
  },
  {
    what: "an absolute target of its own host",
    bytes: "GET http://HOST/outer HTTP/1.1\r\nHost: HOST\r\n\r\n",
    statuses: [200, ...REFUSED],
    reaches: ["GET /outer HTTP/1.1"],
  },
  { what: "CONNECT", bytes: "CONNECT OTHER HTTP/1.1\r\nHost: HOST\r\n\r\n", statuses: [...REFUSED, 404, 405] },
  {
    what: "a target of nothing but a star",
    bytes: "OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n",
    // Deno's listener shows it as the path "/*", and nothing else tells them apart.
    statuses: [200, ...REFUSED],
    reaches: ["OPTIONS /* HTTP/1.1"],
  },
  { what: "a target without a slash", bytes: "GET outer HTTP/1.1\r\nHost: HOST\r\n\r\n", statuses: REFUSED },
  {
    what: "a WebSocket handshake with a body",
    bytes: "GET /outer HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 44\r\n\r\n${SMUGGLED}`,
    statuses: [...REFUSED, 200, 502],
    reaches: ["GET /outer HTTP/1.1"],
  },
  {
    what: "an upgrade to HTTP/2 without TLS",
    bytes: "GET /outer HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" +
      "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n",
    statuses: [200, ...REFUSED],
    reaches: ["GET /outer HTTP/1.1"],
  },
  ...["a\rb", "a\x00b", "a\nb", "a\n X: y"].map((value) => ({
    what: `the field value ${JSON.stringify(value)}`,
    bytes: `GET /outer HTTP/1.1\r\nHost: HOST\r\nX: ${value}\r\n\r\n`,
    // A bare LF ends a line for some readers (RFC 9112, 2.2): then the second half is no field, or one of its own.
    statuses: [...REFUSED, 200],
    reaches: ["GET /outer HTTP/1.1"],
  })),
  ...["a b", "a\x00", "a:b c", "(a)", "a\xff"].map((name) => ({
    what: `the field name ${JSON.stringify(name)}`,
    bytes: `GET /outer HTTP/1.1\r\nHost: HOST\r\n${name}: 1\r\n\r\n`,
    statuses: name.includes(":") ? [200, ...REFUSED] : REFUSED,
    reaches: name.includes(":") ? ["GET /outer HTTP/1.1"] : [],
  })),
  { what: "a line break in the target", bytes: "GET /outer\r\nX: HTTP/1.1\r\nHost: HOST\r\n\r\n", statuses: REFUSED },
  { what: "a NUL in the target", bytes: "GET /ou\x00ter HTTP/1.1\r\nHost: HOST\r\n\r\n", statuses: REFUSED },
  {
    what: "two spaces before the target",
    bytes: "GET  /outer HTTP/1.1\r\nHost: HOST\r\n\r\n",
    // Lenient readers take them for one (RFC 9112, section 3).
    statuses: [200, ...REFUSED],
    reaches: ["GET /outer HTTP/1.1"],
  },
  { what: "HTTP/0.9", bytes: "GET /outer\r\n\r\n", statuses: REFUSED },
  { what: "HTTP/1.2", bytes: "GET /outer HTTP/1.2\r\nHost: HOST\r\n\r\n", statuses: [...REFUSED, 505] },
  {
    what: "a transfer coding in HTTP/1.0",
    bytes: `POST /outer HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    // Deno's listener does not tell versions apart and reads the body as chunked, which is the one reading there is.
    statuses: [...REFUSED, 200],
    reaches: ["POST /outer HTTP/1.1"],
  },
];

/** Bytes on a connection of their own; a request that passes by another way tells that they have had their time. */
async function attack({ bytes, statuses, reaches = [] }: Attack, parts: Parts): Promise<void> {
  const { server, recorder, other, host, otherHost } = parts;
  const before = recorder.requests.length;
  await using raw = await openRaw(server.port);
  raw.write(bytes.replaceAll("HOST", host).replaceAll("OTHER", otherHost));
  raw.end();
  const answered = await raw.readToEnd();
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(answered)?.[1] ?? 0);
  assert(statuses.includes(status), `the answer was ${JSON.stringify(answered.slice(0, 300))}`);
  await assertAlive(parts, recorder, host);
  await assertAlive(parts, other, otherHost);
  const arrived = recorder.requests.slice(before).filter(({ startLine }) => !startLine.includes("/alive"));
  assert(arrived.length <= 1, `${arrived.length} requests arrived: ${arrived.map(({ raw }) => raw).join("|")}`);
  for (const { startLine } of arrived) assert(reaches.includes(startLine), `${startLine} arrived`);
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
  assert.equal(count("upgrade") === 0 || fields.some(([, value]) => value.toLowerCase() === "websocket"), true);
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
    for (const one of ATTACKS) await t.step(one.what, () => attack(one, parts));
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
