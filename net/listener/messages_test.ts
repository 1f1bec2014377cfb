/**
 * How requests and answers pass through a listener, beyond what contract_test.ts holds: bodies at the pace of who reads
 * them, answers in bytes, one connection with many requests. What Deno's driver cannot do has its reason beside it.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { decodeLatin1, encodeLatin1 } from "../http1/mod.ts";
import { silentLogger } from "../../common/log.ts";
import { ask, bodyOf, contract, KINDS, stop, within } from "./contract_kit_test.ts";
import { connectRaw, exchangeRaw } from "./_raw_client.ts";
import { listen } from "./open.ts";
import { BodyCut, type Exchange, type ExchangeHandler, type ListenerKind } from "./types.ts";

/** Deno's driver is left out where its reason is given. */
const EDGE: readonly ListenerKind[] = ["edge"];
const NOTHING = new Uint8Array(0);

const start = (kind: ListenerKind, handler: ExchangeHandler) =>
  listen(kind, { hostname: "127.0.0.1", port: 0, log: silentLogger }, handler);

const head = (line: string, ...fields: string[]) =>
  `${line} HTTP/1.1\r\nHost: a\r\n${fields.map((field) => `${field}\r\n`).join("")}\r\n`;

/** The rest of a body as text. */
async function readAll(exchange: Exchange): Promise<string> {
  let text = "";
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    text += decodeLatin1(piece, 0, piece.length);
  }
  return text;
}

/** Answers in bytes with a text. */
function say(exchange: Exchange, text: string, block = "OK\r\n"): null {
  const body = encodeLatin1(text);
  exchange.response.begin(200, encodeLatin1(`${block}content-length: ${body.length}\r\n`), body.length, body, true);
  return null;
}

/** Sends without end, as fast as it is taken. */
class Flood {
  readonly socket: Socket;
  /** Bytes handed to the system. */
  sent = 0;
  received = "";
  readonly ended: Promise<void>;
  readonly #piece: Uint8Array;
  readonly #limit: number;

  constructor(port: number, first: string, piece: Uint8Array, limit = Infinity) {
    this.#piece = piece;
    this.#limit = limit;
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("data", (chunk) => this.received += chunk.toString("latin1"));
    // A server that wants no more may end it in the middle.
    this.socket.on("error", () => {});
    this.ended = new Promise((resolve) => this.socket.on("close", () => resolve()));
    this.socket.write(first);
    this.socket.on("drain", () => this.#send());
    this.#send();
  }

  #send(): void {
    while (!this.socket.destroyed && this.sent < this.#limit) {
      this.sent += this.#piece.length;
      if (!this.socket.write(this.#piece)) return;
    }
  }

  /** Resolves when nothing more was taken while `turns` other requests came and went. */
  async whenHeldBack(port: number, turns = 30): Promise<void> {
    for (let quiet = 0, before = -1; quiet < turns; quiet++) {
      if (this.sent !== before) quiet = 0;
      before = this.sent;
      await ask(port, "GET /other");
    }
  }
}

const CHUNK = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(65_536, "x"), Buffer.from("\r\n")]);
/** What two systems may hold between them on their way, generously. */
const IN_FLIGHT = 32 * 1024 * 1024;

for (const coding of ["Content-Length: 10000000000", "Transfer-Encoding: chunked"]) {
  // Deno reads ahead what comes in chunks, without bound.
  for (const kind of coding.startsWith("Content") ? KINDS : EDGE) {
    Deno.test(`listener ${kind}: who uploads by ${coding} is held back until somebody reads`, async () => {
      const begun = Promise.withResolvers<Exchange>();
      const gone = Promise.withResolvers<void>();
      const listener = await start(kind, async (exchange) => {
        if (exchange.path === "/other") return new Response("other");
        begun.resolve(exchange);
        await gone.promise;
        return new Response("late");
      });
      const flood = new Flood(listener.port, head("POST /", coding), CHUNK);
      const exchange = await within(begun.promise);
      await within(flood.whenHeldBack(listener.port));
      const held = flood.sent;
      ok(held < IN_FLIGHT, `${held} bytes were taken of a body that nobody read`);
      for (let read = 0; read < IN_FLIGHT;) read += (await within(exchange.readBody()))!.length;
      await within(flood.whenHeldBack(listener.port));
      ok(flood.sent > held, "reading took nothing more in");
      ok(flood.sent < 3 * IN_FLIGHT, `${flood.sent} bytes were taken, and ${IN_FLIGHT} read`);
      gone.resolve();
      flood.socket.destroy();
      await stop(listener);
    });
  }
}

const early: [name: string, fields: string[]][] = [
  ["", []],
  [" with Connection: keep-alive", ["Connection: keep-alive"]],
];

for (const [name, fields] of early) {
  for (const coding of ["Content-Length: 50000000", "Transfer-Encoding: chunked"]) {
    // Deno resets the connection with the upload under way, which takes the answer along.
    contract(
      `an answer before the end of an upload by ${coding} reaches who reads only when done${name}`,
      () => new Response("too large", { status: 413 }),
      async (port) => {
        const flood = new Flood(port, head("POST /", coding, ...fields), CHUNK, 50_000_000);
        await flood.ended;
        match(flood.received, /^HTTP\/1\.1 413 [^]*connection: close\r\n\r\ntoo large$/i);
      },
      EDGE,
    );
  }
}

contract("an answer may begin before the body has ended, and both go on", async (exchange) => {
  const { response } = exchange;
  response.begin(200, encodeLatin1("\r\n"), null, encodeLatin1("begun;"), false);
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    await response.write(piece.slice());
  }
  response.end();
  return null;
}, async (port) => {
  const client = connectRaw(port);
  client.send(head("POST /", "Transfer-Encoding: chunked"));
  await client.until(/begun;/);
  client.send("3\r\none\r\n");
  await client.until(/one/);
  client.send("3\r\ntwo\r\n0\r\n\r\n");
  await client.until(/two\r\n0\r\n\r\n$/);
  client.socket.destroy();
}, EDGE); // Deno.serve wants a whole response, so that nothing goes out before the handler is done.

const bodies = async (exchange: Exchange): Promise<Response> => {
  if (exchange.path === "/413") return new Response("no", { status: 413 });
  const wait = exchange.header("x-read") !== "no";
  return new Response(`<${wait ? await readAll(exchange) : ""}>`);
};

contract("100 Continue is sent once, and not to who sends the body at once", bodies, async (port) => {
  const client = connectRaw(port);
  client.send(head("POST /", "Expect: 100-continue", "Content-Length: 4"));
  equal(await client.until(/\r\n\r\n/), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  client.send("cd");
  equal((await client.until(/<abcd>/)).match(/100 Continue/g)?.length, 1);
  client.send(head("POST /", "Expect: 100-continue", "Content-Length: 2", "Connection: close") + "hi");
  equal((await client.end()).match(/100 Continue/g)?.length, 1);
}, EDGE); // Deno answers Expect by itself, when it likes.

contract("a body that is refused or not read is not asked for", bodies, async (port) => {
  for (const fields of [["Content-Length: 4"], ["Transfer-Encoding: chunked"]]) {
    const refused = await exchangeRaw(port, head("POST /413", "Expect: 100-continue", ...fields));
    match(refused, /^HTTP\/1\.1 413 [^]*connection: close/i);
    const unread = await exchangeRaw(port, head("POST /", "X-Read: no", "Expect: 100-continue", ...fields));
    match(unread, /^HTTP\/1\.1 200 [^]*connection: close[^]*<>/i);
  }
  const old = connectRaw(port);
  old.send("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  old.send("hi");
  match(await old.end(), /^HTTP\/1\.1 200 /);
  const unknown = await exchangeRaw(port, head("POST /", "Expect: 100-continue, x", "Content-Length: 2"));
  match(unknown, /^HTTP\/1\.1 417 /);
}, EDGE); // As above.

contract("trailers come with the end of a body, and go with the end of an answer", async (exchange) => {
  const body = await readAll(exchange);
  const trailers = decodeLatin1(exchange.trailers, 0, exchange.trailers.length);
  exchange.response.begin(200, encodeLatin1("\r\n"), null, NOTHING, false);
  await exchange.response.write(encodeLatin1(`<${body}|${trailers}>`));
  exchange.response.end(encodeLatin1("X-Sum: \xff\r\nx-two: 2\r\n"));
  return null;
}, async (port) => {
  const sent = "2\r\nhi\r\n0\r\nX-One: \xe9\r\nx-two:2\r\n\r\n";
  const answer = await ask(port, "POST /", `Transfer-Encoding: chunked\r\n\r\n${sent}`.slice(0, -2));
  match(answer, /<hi\|X-One: \xe9\r\nx-two:2\r\n>\r\n0\r\nX-Sum: \xff\r\nx-two: 2\r\n\r\n$/);
  const old = await exchangeRaw(port, "GET / HTTP/1.0\r\n\r\n");
  match(old, /\r\n\r\n<\|>$/, "HTTP/1.0 has no trailers");
}, EDGE); // Deno drops trailers both ways.

contract("interim answers go ahead of the answer, with their reason and fields", (exchange) => {
  exchange.response.inform(103, encodeLatin1("Early Hints\r\nLink: </a.css>\r\n"));
  exchange.response.inform(102, encodeLatin1("\r\n"));
  return say(exchange, "done");
}, async (port) => {
  const answer = await ask(port, "GET /");
  const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 \r\n\r\n";
  ok(answer.startsWith(`${hints}HTTP/1.1 200 OK\r\n`), answer);
  match(await exchangeRaw(port, "GET / HTTP/1.0\r\n\r\n"), /^HTTP\/1\.1 200 OK\r\n/, "HTTP/1.0 has none");
}, EDGE); // Deno has no way to send one.

contract("reason phrases go out as they are, bytes above 0x7f too", (exchange) => {
  return say(exchange, "", `It W\xf6rks ${exchange.path}\r\nX-B: \xff\r\n`);
}, async (port) => {
  match(await ask(port, "GET /x"), /^HTTP\/1\.1 200 It W\xf6rks \/x\r\nX-B: \xff\r\n/);
}, EDGE); // Deno writes its own.

/** An answer whose status is its path, and whose body is what there is of it. */
const answers: ExchangeHandler = (exchange) => {
  const status = Number(exchange.path.slice(1));
  const length = exchange.header("x-length");
  const block = length === null ? "\r\n" : `\r\ncontent-length: ${length}\r\n`;
  exchange.response.begin(status, encodeLatin1(block), length === null ? null : Number(length), NOTHING, true);
  return null;
};

contract("204 and 304 and an answer to HEAD end with their head", answers, async (port, kind) => {
  const client = connectRaw(port);
  client.send(
    head("GET /204") + head("GET /304", "X-Length: 7") + head("HEAD /200", "X-Length: 8") + head("HEAD /200"),
  );
  client.send(head("GET /200", "X-Length: 0", "Connection: close"));
  const parts = (await client.end()).split("\r\n\r\n");
  deepEqual(parts.map((part) => part.slice(0, 12)), [204, 304, 200, 200, 200].map((s) => `HTTP/1.1 ${s}`).concat(""));
  ok(!/content-length|transfer-encoding/i.test(parts[0]), parts[0]);
  // Deno leaves it out of 304, where it is optional.
  if (kind === "edge") match(parts[1], /content-length: 7/i);
  match(parts[2], /content-length: 8/i);
  ok(!/content-length/i.test(parts[3]), parts[3]);
});

contract("205 goes out with no body and an end that can be seen", answers, async (port, kind) => {
  const client = connectRaw(port);
  client.send(head("GET /205", "X-Length: 0") + head("GET /200", "X-Length: 0", "Connection: close"));
  const parts = (await client.end()).split("\r\n\r\n");
  // Deno would leave its end open, so its driver sends 204 in its place.
  match(parts[0], kind === "edge" ? /^HTTP\/1\.1 205 [^]*content-length: 0/i : /^HTTP\/1\.1 204 /);
  match(parts[1], /^HTTP\/1\.1 200 /);
});

contract("an answer in bytes that is shorter or longer than it says is broken off", async (exchange) => {
  const { response } = exchange;
  response.begin(200, encodeLatin1("\r\ncontent-length: 10\r\n"), 10, encodeLatin1("12345"), false);
  if (exchange.path === "/long") await response.write(encodeLatin1("1234567890"));
  response.end();
  return null;
}, async (port) => {
  for (const target of ["/short", "/long"]) {
    const answer = await exchangeRaw(port, head(`GET ${target}`) + head(`GET ${target}`));
    // What is broken off may take along what was on its way.
    ok(["", "12345"].includes(bodyOf(answer)) || answer === "", answer);
  }
}, EDGE); // Deno pads or breaks off by rules of its own.

contract("an answer without length ends with its connection in HTTP/1.0", async (exchange) => {
  exchange.response.begin(200, encodeLatin1("\r\n"), null, encodeLatin1("one,"), false);
  await exchange.response.write(encodeLatin1("two"), true);
  return null;
}, async (port) => {
  const answer = await exchangeRaw(port, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ok(!/connection: keep-alive/i.test(answer), answer);
  equal(bodyOf(answer), "one,two");
});

contract(
  "HTTP/1.0 keeps a connection where that is asked for",
  (exchange) => say(exchange, exchange.path),
  async (port) => {
    const client = connectRaw(port);
    client.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    match(await client.until(/\/1$/), /connection: keep-alive\r\n/i);
    client.send("GET /2 HTTP/1.0\r\n\r\n");
    match(await client.end(), /connection: close\r\n[^]*\/2$/i);
  },
  EDGE,
); // Deno's own answers say so too, but its handler cannot tell, nor is it told of the version.

for (const count of [1, 100, 10_000]) {
  contract(`${count} requests in one write are answered in their order`, (exchange) => {
    return say(exchange, `<${exchange.path.slice(1)}>`);
  }, async (port) => {
    const requests = Array.from({ length: count }, (_, index) => `GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const client = connect(port, "127.0.0.1");
    let bytes = "";
    const ended = new Promise<void>((resolve) => client.on("close", () => resolve()));
    client.on("data", (chunk) => bytes += chunk.toString("latin1"));
    client.write(requests.join("") + head("GET /last", "Connection: close"));
    await ended;
    const expected = Array.from({ length: count }, (_, index) => `<${index}>`).join("") + "<last>";
    equal(bytes.match(/<[^>]*>/g)?.join(""), expected);
  });
}

contract(
  "requests in one write are answered in their order, with bodies and answers that take their time",
  async (exchange) => {
    const body = exchange.hasBody ? await readAll(exchange) : "";
    await new Promise((resolve) => setTimeout(resolve, exchange.path === "/slow" ? 20 : 0));
    return new Response(`<${exchange.path} ${body}>`);
  },
  async (port) => {
    const posts = head("POST /slow", "Content-Length: 3") + "abc" +
      head("POST /2", "Transfer-Encoding: chunked") + "1\r\nd\r\n2;x\r\nef\r\n0\r\nA: b\r\n\r\n";
    const client = connectRaw(port);
    client.send(posts + head("GET /3") + posts + head("GET /last", "Connection: close"));
    const answers = (await client.end()).match(/<[^>]*>/g);
    deepEqual(answers, ["</slow abc>", "</2 def>", "</3 >", "</slow abc>", "</2 def>", "</last >"]);
  },
);

contract(
  "a body that nobody reads is passed over when it came whole",
  () => new Response("fine"),
  async (port, kind) => {
    const client = connectRaw(port);
    client.send(head("POST /", "Content-Length: 3") + "abc" + head("GET /", "Connection: close"));
    equal((await client.end()).match(/HTTP\/1\.1 200/g)?.length, 2, kind);
  },
);

contract("empty lines before a request are passed over", (exchange) => say(exchange, exchange.path), async (port) => {
  const client = connectRaw(port);
  client.send("\r\n" + head("GET /1"));
  await client.until(/\/1/);
  client.send("\r\n\r\n" + head("GET /2", "Connection: close"));
  match(await client.end(), /\/2$/);
});

contract("a request may come byte by byte, an empty line before it too", async (exchange) => {
  return say(exchange, `<${exchange.path} ${await readAll(exchange)} ${exchange.header("x")}>`);
}, async (port) => {
  const client = connectRaw(port);
  const text = "\r\n" + head("POST /slowly", "Transfer-Encoding: chunked", "X: y") + "2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n";
  for (const char of text) {
    await new Promise((resolve) => client.socket.write(char, resolve));
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await client.until(/<\/slowly hi! y>/);
  client.socket.destroy();
});

contract("a head of 30 kB that comes byte by byte costs no more than its bytes", (exchange) => {
  return say(exchange, `<${exchange.header("x")?.length}>`);
}, async (port) => {
  const client = connectRaw(port);
  client.socket.setNoDelay(true);
  const text = head("GET /", `X: ${"x".repeat(30_000)}`);
  for (let at = 0; at < text.length; at += 50) {
    for (const char of text.slice(at, at + 50)) client.send(char);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await client.until(/<30000>/);
  client.socket.destroy();
}, EDGE); // Deno takes 16 kB.

contract("a visitor who ends their side gets the answer, however late the handler is", async (exchange) => {
  const body = exchange.hasBody ? await readAll(exchange) : "";
  await new Promise((resolve) => setTimeout(resolve, 100));
  return new Response(`<${exchange.path} ${body}>`);
}, async (port) => {
  for (
    const [request, answer] of [
      [head("GET /get"), "</get >"],
      [head("POST /post", "Content-Length: 2") + "hi", "</post hi>"],
      [head("GET /1") + head("GET /2"), "</2 >"],
      [head("POST /1", "Transfer-Encoding: chunked") + "1\r\nx\r\n0\r\n\r\n" + head("GET /2"), "</2 >"],
    ]
  ) {
    const client = connectRaw(port);
    client.socket.end(request, "latin1");
    ok((await client.end()).includes(answer), request);
  }
}, EDGE); // Deno takes it that they have left.

contract("a visitor whose body takes its time, and who then ends their side, gets the answer", async (exchange) => {
  const body = await readAll(exchange);
  await new Promise((resolve) => setTimeout(resolve, 50));
  return new Response(`<${body}>`);
}, async (port) => {
  const client = connectRaw(port);
  client.send(head("POST /", "Content-Length: 4") + "ab");
  await new Promise((resolve) => setTimeout(resolve, 60));
  client.socket.end("cd");
  match(await client.end(), /<abcd>/);
}, EDGE); // As above.

contract("a body that is cut short is no body", async (exchange) => {
  try {
    return new Response(`<${await readAll(exchange)}>`);
  } catch (error) {
    ok(error instanceof BodyCut);
    throw error;
  }
}, async (port) => {
  for (const body of ["Content-Length: 5\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"]) {
    const client = connectRaw(port);
    client.socket.end(`POST / HTTP/1.1\r\nHost: a\r\n${body}`);
    ok(!(await client.end()).includes("<"), body);
  }
});

const malformed = [
  "x\r\n",
  "5 \r\nhello\r\n0\r\n\r\n",
  "\r\n",
  "-1\r\n",
  "+5\r\nhello\r\n0\r\n\r\n",
  "0x5\r\nhello\r\n0\r\n\r\n",
  "5\nhello\r\n0\r\n\r\n",
  "5\r\nhelloX\r\n0\r\n\r\n",
  "5\r\nhello\n0\r\n\r\n",
  "ffffffffffffffff\r\n",
  "5;\x00\r\nhello\r\n0\r\n\r\n",
  "5\r\nhello\r\n0\r\nA b: c\r\n\r\n",
  "5\r\nhello\r\n0\r\nA: b\rc\r\n\r\n",
];

contract("a chunked body that is malformed ends its connection, and is never taken for whole", async (exchange) => {
  reached.push(`${exchange.path} ${await readAll(exchange)}`);
  return new Response("read");
}, async (port) => {
  for (const body of malformed) {
    const second = head("GET /second", "Connection: close");
    await exchangeRaw(port, head("POST /", "Transfer-Encoding: chunked") + body + second);
  }
  deepEqual(reached.splice(0), []);
}, EDGE); // Deno's own parser takes some of these, in the one way that it reads them.
const reached: string[] = [];

contract("many chunks of one byte are one body, in linear time", async (exchange) => {
  let size = 0;
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) size += piece.length;
  return new Response(`<${size}>`);
}, async (port, kind) => {
  // Deno takes 20 s for the largest, and nobody else is answered meanwhile.
  for (const count of kind === "edge" ? [1, 100, 10_000, 300_000] : [1, 100, 10_000]) {
    const client = connectRaw(port);
    client.send(head("POST /", "Transfer-Encoding: chunked", "Connection: close"));
    client.send("1\r\nx\r\n".repeat(count) + "0\r\n\r\n");
    match(await client.end(), new RegExp(`<${count}>`));
  }
});

contract("a piece of a body stays as it is for whoever holds it, also beyond the answer", async (exchange) => {
  if (exchange.path !== "/held") return new Response("next");
  const piece = (await exchange.readBody())!;
  held.push({ piece, copy: piece.slice() });
  return new Response("held");
}, async (port) => {
  const texts = [head("POST /held", "Content-Length: 40") + "a".repeat(40), head("POST /held", "Content-Length: 40")];
  for (const [index, text] of texts.entries()) {
    const client = connectRaw(port);
    client.send(text);
    if (index === 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      client.send("b".repeat(40));
    }
    await client.until(/held/);
    // These would come to lie where the piece lies.
    for (let turn = 0; turn < 5; turn++) {
      client.send(head("GET /next", `X: ${"x".repeat(500)}`));
      await ask(port, "GET /next", `X: ${"y".repeat(1_000)}\r\n`);
    }
    client.send(head("GET /next", "Connection: close"));
    await client.end();
  }
  for (const { piece, copy } of held.splice(0)) ok(Buffer.from(piece).equals(copy), "another request overwrote it");
}, EDGE); // Deno's memory is its own affair, and it answers before a body is read to its end by closing.
const held: { piece: Uint8Array; copy: Uint8Array }[] = [];

/** Upgrades to whatever is asked for, and sends back what comes, in capitals. */
const echo: ExchangeHandler = (exchange) => {
  if (exchange.upgrade === null) return new Response("no upgrade");
  const connection = exchange.response.switchProtocols(
    encodeLatin1(`Go On\r\nupgrade: ${exchange.upgrade}\r\nX: y\r\n`),
  );
  void (async () => {
    const memory = new Uint8Array(1_000);
    await connection.write(encodeLatin1("hello;"));
    for (;;) {
      const count = await connection.read(memory);
      if (count === null) break;
      await connection.write(encodeLatin1(decodeLatin1(memory, 0, count).toUpperCase()));
    }
    await connection.write(encodeLatin1(";bye"));
    await connection.closeWrite();
    connection.close();
  })().catch(() => connection.close());
  return null;
};
const UPGRADE = head("GET /", "Connection: keep-alive, Upgrade", "Upgrade: chat/2");

contract("an upgrade to any protocol is bytes both ways, each with its own end", echo, async (port) => {
  const client = connectRaw(port);
  client.send(UPGRADE);
  const answer = await client.until(/hello;/);
  match(answer, /^HTTP\/1\.1 101 Go On\r\nupgrade: chat\/2\r\nX: y\r\nconnection: Upgrade\r\n\r\nhello;$/);
  client.send("one");
  await client.until(/ONE/);
  client.socket.end("GET / HTTP/1.1\r\n\r\n");
  match(await client.end(), /ONEGET \/ HTTP\/1\.1\r\n\r\n;bye$/);
}, EDGE); // Deno upgrades to WebSocket alone.

contract("what comes right behind an upgrade is its first bytes, however much", echo, async (port) => {
  for (const size of [1, 100, 10_000, 1_000_000]) {
    const client = connectRaw(port);
    let received = 0;
    client.socket.on("data", (chunk) => received += chunk.length);
    client.socket.end(UPGRADE + "x".repeat(size));
    const text = await client.end();
    equal(text.indexOf("hello;") >= 0 && text.replaceAll(/[^X]/g, "").length, size + 1, `${received} bytes`);
    ok(text.endsWith(";bye"));
  }
}, EDGE); // As above.

contract("an upgrade that cannot be is a plain request", echo, async (port) => {
  const requests = [
    head("GET /", "Connection: close", "Upgrade: chat"),
    head("GET /", "Connection: close, Upgrade"),
    head("GET /", "Connection: close, Upgrade", "Upgrade: h2c"),
    head("POST /", "Connection: close, Upgrade", "Upgrade: chat", "Content-Length: 2") + "hi",
    "GET / HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n",
  ];
  for (const request of requests) match(await exchangeRaw(port, request), /^HTTP\/1\.1 200 [^]*no upgrade$/, request);
}, EDGE); // Deno refuses one with a body itself.

contract("a visitor who leaves an upgrade is noticed", (exchange) => {
  const connection = exchange.response.switchProtocols(encodeLatin1("\r\nupgrade: chat\r\n"));
  left.push(connection.read(new Uint8Array(10)).catch(() => null).finally(() => connection.close()));
  return null;
}, async (port) => {
  for (const leave of ["destroy", "resetAndDestroy"] as const) {
    const client = connectRaw(port);
    client.send(UPGRADE);
    await client.until(/101/);
    client.socket[leave]();
    equal(await left.shift(), null);
  }
}, EDGE); // As above.
const left: Promise<number | null>[] = [];
