import assert from "node:assert/strict";
import { describeAbort } from "../../net/connection/_failure.ts";
import { type Connect, ConnectError } from "../../net/connection/mod.ts";
import { scriptConnect, settle } from "../../net/upstream/_script.ts";
import { createEphemeralTunnel, fetchEphemeralTunnel } from "./relay_api.ts";

const server = new URL("http://relay.example:8787");
const TUNNEL = '{"id":"i","url":"http://a.example","expiresAt":"2026-01-01T00:00:00.000Z","secret":"s","new":1}';

/** Makes a tunnel with a server that gives `answer`. */
async function create(answer: string) {
  const { connect, connections } = scriptConnect();
  const making = createEphemeralTunnel(connect, server);
  making.catch(() => {});
  await settle();
  connections[0].send(answer);
  connections[0].end();
  return { making, connection: connections[0] };
}

const answer = (status: string, body: string) => `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

Deno.test("createEphemeralTunnel asks for a tunnel and reads what it gets, however it is framed", async () => {
  const chunk = `${TUNNEL.length.toString(16)}\r\n${TUNNEL}\r\n0\r\n\r\n`;
  for (
    const text of [
      answer("201 Created", TUNNEL),
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`,
      `HTTP/1.1 201 Created\r\n\r\n${TUNNEL}`,
    ]
  ) {
    const { making, connection } = await create(text);
    const expiresAt = Date.UTC(2026, 0, 1);
    assert.deepEqual(await making, { id: "i", url: "http://a.example", expiresAt, secret: "s" });
    assert.match(connection.text, /^POST \/api\/v1\/tunnels\/ephemeral HTTP\/1\.1\r\nhost: relay\.example:8787\r\n/);
    assert.match(connection.text, /\r\ncontent-length: 0\r\n\r\n$/);
    assert(connection.closed);
  }
});

Deno.test("a relay whose clock is another one is believed how long it is, not until when", async () => {
  const isNear = (time: number, wanted: number) => Math.abs(time - wanted) < 2000;
  for (const skew of [-7_200_000, 7_200_000]) {
    const expiresAt = new Date(Date.now() + 60_000 + skew).toISOString();
    const tunnel = JSON.stringify({ id: "i", url: "http://a.example", secret: "s", expiresAt, remainingSeconds: 60 });
    const made = await (await create(answer("201 Created", tunnel))).making;
    assert(isNear(made.expiresAt, Date.now() + 60_000), `${made.expiresAt - Date.now()} ms`);
  }
  const expiresAt = new Date(Date.now() + 61_000).toISOString();
  const tunnel = JSON.stringify({ id: "i", url: "http://a.example", secret: "s", expiresAt, remainingSeconds: 60 });
  const made = await (await create(answer("201 Created", tunnel))).making;
  assert.equal(made.expiresAt, Date.parse(expiresAt), "a small difference changes nothing");
});

const failures: [name: string, answer: string, error: { name: string; message: string }][] = [
  ["an error of the relay's", answer("429 X", '{"error":{"code":"c","message":"Wait."}}'), {
    name: "ApiRefused",
    message: "Wait.",
  }],
  [
    "a version that does not fit",
    answer("426 X", '{"error":{"code":"unsupported_version","message":"No.","details":"Update."}}'),
    { name: "ApiRefused", message: "No. Update." },
  ],
  ["an error that may pass", answer("503 X", '{"error":{"code":"c","message":"Restarting."}}'), {
    name: "ApiUnreachable",
    message: "Restarting.",
  }],
  ["a proxy's error", answer("502 X", "<html>"), {
    name: "ApiUnreachable",
    message: "the server http://relay.example:8787 is not available",
  }],
  ["a page", answer("200 OK", "<html>"), {
    name: "ApiRefused",
    message: "http://relay.example:8787 is not a Portway server",
  }],
  ["a URL that steers the terminal", answer("201 X", TUNNEL.replace("a.example", "a.example/\\u001b[2J")), {
    name: "ApiRefused",
    message: "http://relay.example:8787 is not a Portway server",
  }],
  ["a tunnel without a time", answer("201 X", '{"id":"i","url":"http://a","secret":"s"}'), {
    name: "ApiRefused",
    message: "http://relay.example:8787 is not a Portway server",
  }],
  ["no HTTP", "SSH-2.0-x\r\n", { name: "ApiRefused", message: "http://relay.example:8787 is not a Portway server" }],
  ["nothing", "", {
    name: "ApiUnreachable",
    message: "the server http://relay.example:8787 closed the connection without a response",
  }],
  ["half an answer", "HTTP/1.1 201 X\r\ncontent-length: 10\r\n\r\n{", {
    name: "ApiUnreachable",
    message: "the server http://relay.example:8787 closed the connection without a response",
  }],
  ["too much", answer("201 X", "x".repeat(300_000)), {
    name: "ApiRefused",
    message: "http://relay.example:8787 is not a Portway server",
  }],
];

for (const [name, text, error] of failures) {
  Deno.test(`createEphemeralTunnel tells ${name} in one line`, async () => {
    const { making, connection } = await create(text);
    await assert.rejects(making, error);
    assert(connection.closed);
  });
}

Deno.test("createEphemeralTunnel tells a server that cannot be reached", async () => {
  const connect = () => Promise.reject(new ConnectError("refused", "connection refused"));
  await assert.rejects(createEphemeralTunnel(connect, server), {
    name: "ApiUnreachable",
    message: "cannot reach the server http://relay.example:8787: connection refused",
  });
});

Deno.test("fetchEphemeralTunnel proves ownership and keeps the secret", async () => {
  const { connect, connections } = scriptConnect();
  const fetching = fetchEphemeralTunnel(connect, server, { id: "a/b", secret: "mine" });
  await settle();
  assert.match(connections[0].text, /^GET \/api\/v1\/tunnels\/ephemeral\/a%2Fb HTTP\/1\.1\r\n/);
  assert.match(connections[0].text, /\r\nauthorization: Bearer mine\r\n/);
  connections[0].send(answer("200 OK", TUNNEL));
  assert.equal((await fetching).secret, "mine");
});

Deno.test("a call is given up when its signal aborts", async () => {
  const { connect, connections } = scriptConnect();
  const abort = new AbortController();
  const making = assert.rejects(createEphemeralTunnel(connect, server, { signal: abort.signal }), {
    message: "cannot reach the server http://relay.example:8787: given up",
  });
  await settle();
  abort.abort();
  await making;
  assert(connections[0].closed);
});

/** What a server that stops talking has sent by then. */
const silences = { "nothing": "", "half a head": "HTTP/1.1 201 C", "a head alone": answer("201 X", "{").slice(0, -1) };

for (const [what, sent] of Object.entries(silences)) {
  Deno.test(`a call to a server that sends ${what} and then is silent ends in one line`, async () => {
    const { connect, connections } = scriptConnect();
    const making = assert.rejects(createEphemeralTunnel(connect, server, { timeoutMs: 50 }), {
      name: "ApiUnreachable",
      message: "cannot reach the server http://relay.example:8787: no response within 0.05 seconds",
    });
    await settle();
    connections[0].send(sent);
    await making;
    assert(connections[0].closed);
  });
}

Deno.test("a call that cannot be dialled in its time ends, and says how far it came", async () => {
  const connect: Connect = async ({ signal }) => {
    await new Promise((resolve) => signal?.addEventListener("abort", resolve));
    throw describeAbort("cannot connect", signal!);
  };
  await assert.rejects(createEphemeralTunnel(connect, server, { timeoutMs: 1 }), {
    name: "ApiUnreachable",
    message: "cannot reach the server http://relay.example:8787: cannot connect: it took too long",
  });
});
