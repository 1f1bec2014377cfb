/** HTTP through a tunnel, byte for byte: raw sockets on both ends, by both listeners of the server. */
import assert from "node:assert/strict";
import {
  openRaw,
  rawRequest,
  type RawResponse,
  type Recorder,
  type Server,
  startRecorder,
  startServer,
  startTunnel,
  type Tunnel,
} from "./kit.ts";

interface Route {
  server: Server;
  tunnel: Tunnel;
  recorder: Recorder;
  /** Host header of the tunnel. */
  host: string;
  /** Sends a request by hand; `rest` is what follows the Host line, blank line included. */
  send(requestLine: string, rest?: string): Promise<RawResponse>;
}

/** What the recorder answers to a path that is listed here; everything else gets 200. */
const ANSWERS: Readonly<Record<string, string>> = {
  "/head": "HTTP/1.1 200 OK\r\ncontent-length: 12345\r\ncontent-type: text/plain\r\n\r\n",
  "/head-of-any-length": "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n",
  "/204": 'HTTP/1.1 204 No Content\r\netag: "a"\r\n\r\n',
  "/304": 'HTTP/1.1 304 Not Modified\r\netag: "a"\r\ncontent-length: 7\r\n\r\n',
  "/early-hints": "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfinal",
  "/cookies":
    "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nset-cookie: b=2, c\r\nSET-COOKIE: \r\ncontent-length: 0\r\n\r\n",
  "/latin1": "HTTP/1.1 200 OK\r\nx-bytes: caf\xe9 \x80\x9f\xff\r\ncontent-length: 0\r\n\r\n",
  "/hops": "HTTP/1.1 200 OK\r\nconnection: x-private, keep-alive\r\nx-private: 1\r\nkeep-alive: timeout=5\r\n" +
    "proxy-authenticate: Basic\r\nportway-error: forged\r\nx-kept: yes\r\ncontent-length: 0\r\n\r\n",
  "/chunked":
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-t\r\n\r\n4;x=1\r\nWiki\r\n5\r\npedia\r\n0\r\nx-t: 1\r\n\r\n",
  "/close": "HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nuntil the end",
  "/page": `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 20000\r\n\r\n${
    "<p>hello</p>".repeat(2000).slice(0, 20_000)
  }`,
  "/418": "HTTP/1.1 418 I'm a teapot\r\ncontent-length: 5\r\n\r\nshort",
  "/507": "HTTP/1.1 507 Insufficient Storage\r\ncontent-length: 4\r\n\r\nfull",
};

async function withRoute(listener: string, run: (route: Route) => Promise<void>): Promise<void> {
  await using recorder = await startRecorder({
    answer({ startLine }, socket) {
      const path = startLine.split(" ")[1];
      const answer = ANSWERS[path];
      if (path === "/close") socket.end(answer);
      return path === "/close" ? null : answer ?? "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n";
    },
  });
  await using server = await startServer({ args: ["--listener", listener] });
  await using tunnel = await startTunnel({ server, target: recorder });
  const { host } = new URL(tunnel.url);
  const send = (requestLine: string, rest = "\r\n") =>
    rawRequest(server.port, `${requestLine} HTTP/1.1\r\nHost: ${host}\r\n${rest}`);
  await run({ server, tunnel, recorder, host, send });
}

/** What the local service got of a field, all values in order. */
const valuesOf = (fields: readonly [string, string][], name: string) =>
  fields.filter(([field]) => field.toLowerCase() === name).map(([, value]) => value);

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

const PATHS = [
  "/",
  "/a%2Fb",
  "/a%2fb/..%2f",
  "/a/../b/./c",
  "//double//slashes//",
  "/%",
  "/%zz/%00",
  "/a;p=1/b;q",
  "/a b".replace(" ", "+"),
  "/~!$&'()*+,;=:@",
  "/?",
  "/?a=1&&b==&c&a=2",
  "/x?y=%20+%2B&z=/../?&#".slice(0, -1),
  "/?q=http://other.example/",
  "/http://other.example/",
  "/@other.example/",
  '/"<>[]{}|^`\\',
  `/${"a".repeat(4000)}`,
  // UTF-8 that should have been percent-encoded.
  "/p\xc3\xa4th",
];

const METHODS = [
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "PROPFIND",
  "MKCOL",
  "REPORT",
  "PURGE",
  "QUERY",
  "TRACE",
  "X-own",
  "get",
];

for (const listener of ["edge", "deno"]) {
  Deno.test(`HTTP passes a tunnel unchanged (listener ${listener})`, async (t) => {
    await withRoute(listener, async ({ server, recorder, host, send, tunnel }) => {
      for (const path of PATHS) {
        await t.step(`the path ${path.slice(0, 40)} arrives as it was sent`, async () => {
          assert.equal((await send(`GET ${path}`)).status, 200);
          await recorder.waitFor(({ startLine }) => startLine === `GET ${path} HTTP/1.1`);
        });
      }

      for (const method of METHODS) {
        await t.step(`the method ${method} passes, with a body where it has one`, async () => {
          const body = method === "GET" || method === "TRACE" ? "" : "body";
          const fields = body === "" ? "\r\n" : `content-length: 4\r\n\r\n${body}`;
          assert.equal((await send(`${method} /method`, fields)).status, 200);
          const arrived = await recorder.waitFor(({ startLine }) => startLine === `${method} /method HTTP/1.1`);
          assert.equal(text(arrived.body), body);
        });
      }

      for (
        const [what, name] of [
          ["in capitals", host.toUpperCase()],
          ["with a trailing dot", host.replace(":", ".:")],
          ["without its port", host.replace(/:\d+$/, "")],
          ["with another port", host.replace(/:\d+$/, ":1")],
        ]
      ) {
        await t.step(`the Host ${what} is the same tunnel`, async () => {
          const answer = await rawRequest(server.port, `GET /host HTTP/1.1\r\nHost: ${name}\r\n\r\n`);
          assert.equal(answer.status, 200);
          await recorder.waitFor(({ startLine }) => startLine === "GET /host HTTP/1.1");
        });
      }

      await t.step("HEAD has the fields of GET and no body, also the length", async () => {
        const answer = await send("HEAD /head");
        assert.equal(answer.status, 200);
        assert.equal(answer.header("content-length"), "12345");
        await recorder.waitFor(({ startLine }) => startLine === "HEAD /head HTTP/1.1");
      });

      await t.step("HEAD claims no length that the local service did not give", async () => {
        const answer = await send("HEAD /head-of-any-length");
        assert.deepEqual([answer.status, answer.header("content-type")], [200, "text/plain"]);
        assert.equal(answer.header("content-length"), undefined);
      });

      await t.step("204 and 304 keep their fields and have no body, and the connection goes on", async () => {
        await using raw = await openRaw(server.port);
        for (const status of [204, 304, 204]) {
          raw.write(`GET /${status} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
          const answer = await raw.read();
          assert.equal(answer.status, status);
          assert.equal(answer.header("etag"), '"a"');
        }
      });

      for (const [status, body] of [[418, "short"], [507, "full"]] as const) {
        await t.step(`status ${status} passes`, async () => {
          const answer = await send(`GET /${status}`);
          assert.deepEqual([answer.status, text(answer.body)], [status, body]);
        });
      }

      await t.step("an interim response of the service is not taken for the final one", async () => {
        assert.equal(text((await send("GET /early-hints")).body), "final");
      });

      await t.step("several Set-Cookie stay several, in order, with commas and empty ones", async () => {
        const { fields } = await send("GET /cookies");
        assert.deepEqual(valuesOf(fields, "set-cookie"), ["a=1; Path=/", "b=2, c", ""]);
      });

      await t.step("Latin-1 bytes in field values pass both ways", async () => {
        const answer = await send("GET /latin1", "x-bytes: \xe9t\xe9 \x80\xff\r\n\r\n");
        assert.equal(answer.header("x-bytes"), "caf\xe9 \x80\x9f\xff");
        const arrived = await recorder.waitFor(({ startLine }) => startLine === "GET /latin1 HTTP/1.1");
        assert.deepEqual(valuesOf(arrived.fields, "x-bytes"), ["\xe9t\xe9 \x80\xff"]);
      });

      await t.step("fields of one connection stay behind, both ways", async () => {
        const answer = await send(
          "GET /hops",
          "connection: x-secret, close\r\nx-secret: 1\r\nte: trailers\r\nproxy-authorization: Basic eA==\r\nx-kept: yes\r\n\r\n",
        );
        for (const name of ["x-private", "portway-error"]) {
          assert.equal(answer.header(name), undefined, name);
        }
        assert.deepEqual([answer.header("x-kept"), answer.header("proxy-authenticate")], ["yes", "Basic"]);
        const { fields } = await recorder.waitFor(({ startLine }) => startLine === "GET /hops HTTP/1.1");
        for (const name of ["x-secret", "te", "proxy-authorization"]) {
          assert.deepEqual(valuesOf(fields, name), [], name);
        }
        assert.deepEqual(valuesOf(fields, "x-kept"), ["yes"]);
      });

      await t.step("where a request came from is told, and what a visitor claims of it is not", async () => {
        await send(
          "GET /origin",
          "x-forwarded-for: 6.6.6.6\r\nx-forwarded-proto: https\r\nx-forwarded-host: evil\r\nx-real-ip: 6.6.6.6\r\n" +
            "forwarded: for=6.6.6.6\r\nportway-tunnel: x\r\nportway-anything: y\r\n\r\n",
        );
        const { fields } = await recorder.waitFor(({ startLine }) => startLine === "GET /origin HTTP/1.1");
        assert.deepEqual(valuesOf(fields, "x-forwarded-for"), ["127.0.0.1"]);
        assert.deepEqual(valuesOf(fields, "x-forwarded-proto"), ["http"]);
        assert.deepEqual(valuesOf(fields, "x-forwarded-host"), [host]);
        assert.deepEqual(valuesOf(fields, "forwarded"), [`for=127.0.0.1;proto=http;host="${host}"`]);
        assert.deepEqual(fields.filter(([name]) => /^portway-|^x-real-ip$/i.test(name)), []);
      });

      await t.step("the service sees its own address as Host", async () => {
        await send("GET /own-host");
        const { fields } = await recorder.waitFor(({ startLine }) => startLine === "GET /own-host HTTP/1.1");
        assert.deepEqual(valuesOf(fields, "host"), [`localhost:${recorder.port}`]);
      });

      await t.step("a chunked answer with extensions and trailers arrives whole", async () => {
        assert.equal(text((await send("GET /chunked")).body), "Wikipedia");
      });

      await t.step("an answer that ends with its connection arrives whole", async () => {
        assert.equal(text((await send("GET /close")).body), "until the end");
      });

      await t.step("a chunked request is one of the same content", async () => {
        const answer = await send(
          "POST /chunks",
          "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;e\r\nde\r\n0\r\n\r\n",
        );
        assert.equal(answer.status, 200);
        const arrived = await recorder.waitFor(({ startLine }) => startLine === "POST /chunks HTTP/1.1");
        assert.equal(text(arrived.body), "abcde");
      });

      await t.step("nothing is compressed on the way", async () => {
        const answer = await send("GET /page", "accept-encoding: gzip, br\r\n\r\n");
        assert.equal(answer.header("content-encoding"), undefined);
        assert.equal(answer.header("content-length"), "20000");
        assert.equal(answer.body.length, 20_000);
      });

      await t.step("Expect: 100-continue is answered, and then the body passes", async () => {
        await using raw = await openRaw(server.port);
        raw.write(`POST /expect HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
        assert.equal((await raw.read()).status, 100);
        raw.write("later");
        assert.equal((await raw.read()).status, 200);
        const arrived = await recorder.waitFor(({ startLine }) => startLine === "POST /expect HTTP/1.1");
        assert.equal(text(arrived.body), "later");
        assert.deepEqual(valuesOf(arrived.fields, "expect"), ["100-continue"]);
      });

      await t.step("requests that are pipelined are answered in order", async () => {
        await using raw = await openRaw(server.port);
        raw.write(["/418", "/507", "/418"].map((path) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).join(""));
        for (const status of [418, 507, 418]) assert.equal((await raw.read()).status, status);
      });

      await t.step("each request is told by the client, with the status its visitor got", async () => {
        await tunnel.events.waitFor(
          "request",
          ({ method, path, status }) => method === "GET" && path === "/507" && status === 507,
        );
      });

      assert.deepEqual(recorder.faults, []);
    });
  });
}
