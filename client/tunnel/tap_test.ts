import assert from "node:assert/strict";
import type { RequestHead } from "../../net/http1/mod.ts";
import { Opening } from "../../protocol/mod.ts";
import { createRelayEnd } from "./_relay_end.ts";
import { createHandlerTarget } from "./handler_target.ts";
import { type Tap, tapTarget } from "./tap.ts";
import type { Target } from "./target.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const fail = (error: unknown) => assert.fail(String(error));
const hello = (headers = {}): Target =>
  createHandlerTarget("hello", {
    fetch: async (request) => new Response(`hello ${await request.text()}`, { headers }),
    close: () => Promise.resolve(),
  });
const GET = "GET /a?b HTTP/1.1\r\nhost: a\r\n\r\n";

Deno.test("a tap prints the heads of an exchange", async () => {
  const printed: string[] = [];
  const tap: Tap = {
    onRequest({ method, path }: RequestHead) {
      printed.push(`${method} ${path}`);
      return { onResponse: (status, block) => printed.push(`${status} ${text(block)}`) };
    },
    onError: fail,
  };
  await createRelayEnd(tapTarget(hello({ "x-a": "1" }), tap)).visit(GET).until();
  assert.deepEqual(printed, ["GET /a?b", "200 \r\ncontent-type: text/plain;charset=UTF-8\r\nx-a: 1\r\n"]);
});

Deno.test("a tap sees the body of a request and of its response, then the end, once each", async () => {
  const seen: string[] = [];
  const tap: Tap = {
    onRequest: () => ({
      onRequestData: (chunk, end) => seen.push(`> ${text(chunk)} ${end}`),
      onRequestTrailers: (lines) => seen.push(`> ${text(lines)}`),
      onResponseData: (chunk, end) => seen.push(`< ${text(chunk)} ${end}`),
      onEnd: (reason) => seen.push(`end ${reason}`),
    }),
    onError: fail,
  };
  const head = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n";
  const visit = createRelayEnd(tapTarget(hello(), tap)).visit(head, Opening.withBody);
  await visit.stream.write(new TextEncoder().encode("you"));
  visit.stream.end(new TextEncoder().encode("x: 1\r\n"));
  assert.equal((await visit.until()).body, "hello you");
  assert.deepEqual(seen, ["> you false", "> x: 1\r\n", "< hello you false", "<  true", "end 0"]);
});

Deno.test("a tap sees the bytes of an upgrade in both directions", async () => {
  const seen: string[] = [];
  const echo: Target = {
    ...hello(),
    handle: ({ stream }) => {
      const empty = new Uint8Array(0);
      stream.respond(101, empty, 0, 0, empty, 0, 0, false);
      return { onData: (chunk, end) => void stream.write(chunk.slice(), end), onReset() {} };
    },
  };
  const tap: Tap = {
    onRequest: (_head, upgrade) => ({
      onRequestData: (chunk) => seen.push(`> ${text(chunk)}`),
      onResponse: (status) => seen.push(`${upgrade} ${status}`),
      onResponseData: (chunk) => seen.push(`< ${text(chunk)}`),
      onEnd: (reason) => seen.push(`end ${reason}`),
    }),
    onError: fail,
  };
  const visit = createRelayEnd(tapTarget(echo, tap)).visit(GET, Opening.upgrade);
  await visit.until(({ status }) => status === 101);
  await visit.stream.write(new TextEncoder().encode("ping"), true);
  assert.equal((await visit.until()).body, "ping");
  assert.deepEqual(seen, ["true 101", "> ping", "< ping", "end 0"]);
});

Deno.test("a tap that throws loses its exchange and changes nothing for the visitor", async () => {
  const errors: unknown[] = [];
  const throwing = () => {
    throw new Error("a tap failed");
  };
  for (const onRequest of [throwing, () => ({ onResponse: throwing, onResponseData: () => assert.fail("called") })]) {
    const target = tapTarget(hello(), { onRequest, onError: (error) => errors.push(error) });
    assert.equal((await createRelayEnd(target).visit(GET).until()).body, "hello ");
  }
  assert.equal(errors.length, 2);
});
