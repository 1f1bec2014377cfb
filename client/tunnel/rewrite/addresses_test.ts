import assert from "node:assert/strict";
import fc from "fast-check";
import { Addresses, applyEdits } from "./addresses.ts";
import { RequestHead } from "../../../net/http1/mod.ts";
import { readRequestHead } from "../session.ts";

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const toText = (bytes: Uint8Array) => String.fromCharCode(...bytes);

const HOST = "k3v9.try.example.com";
const FORWARDED = [`x-forwarded-proto: https`, `x-forwarded-host: ${HOST}`];

function headOf(fields: readonly string[], host = HOST) {
  const frame = latin1(["POST /x HTTP/1.1", `host: ${host}`, ...fields, "", ""].join("\r\n"));
  const head = new RequestHead();
  readRequestHead(head, frame, 0, frame.length);
  return { frame, head };
}

/** The fields of a request as the service gets them, less the host line, which is another's work. */
function rewrite(
  fields: readonly string[],
  service = "http://localhost:3000",
  hostHeader = new URL(service).host,
): string[] {
  const { frame, head } = headOf(fields);
  const edits = new Addresses(new URL(service), hostHeader).editRequest(head);
  const edited = edits === null ? frame : applyEdits(frame, 0, frame.length, edits);
  return toText(edited).split("\r\n").slice(2, -2);
}

Deno.test("an Origin that names the public URL names the service, and X-Forwarded-Host and -Proto agree with it", () => {
  assert.deepEqual(rewrite([`Origin: https://${HOST}`, "a: b", ...FORWARDED]), [
    "Origin: http://localhost:3000",
    "a: b",
    "x-forwarded-proto: http",
    "x-forwarded-host: localhost:3000",
  ]);
  assert.deepEqual(rewrite([`origin:http://${HOST.toUpperCase()} `], "https://127.0.0.1:8443", "app.test"), [
    "origin:https://app.test ",
  ]);
});

Deno.test("a Referer that names the public URL names the service, with its path and query", () => {
  assert.deepEqual(rewrite([`Referer: https://${HOST}/a?b=https://${HOST}/`, ...FORWARDED]), [
    `Referer: http://localhost:3000/a?b=https://${HOST}/`,
    ...FORWARDED,
  ]);
  assert.deepEqual(rewrite([`referer: https://${HOST}`, `origin: https://${HOST}`]), [
    "referer: http://localhost:3000",
    "origin: http://localhost:3000",
  ]);
});

Deno.test("other origins stay as they are: what a framework would refuse it still can", () => {
  for (
    const line of [
      "Origin: https://evil.example",
      "Origin: null",
      `Origin: https://${HOST}.evil.example`,
      `Origin: https://x.${HOST}`,
      `Origin: https://${HOST}:8443`,
      `Origin: https://${HOST}/path`,
      `Origin: ftp://${HOST}`,
      `Referer: https://${HOST}.evil.example/`,
      `Referer: https://${HOST}@evil.example/`,
      `Referer: https://evil.example/?${HOST}`,
      `x-origin: https://${HOST}`,
    ]
  ) assert.deepEqual(rewrite([line, ...FORWARDED]), [line, ...FORWARDED]);
});

/** An answer's fields as visitors get them. */
function answer(fields: readonly string[], service = "http://localhost:3000", hostHeader = new URL(service).host) {
  const addresses = new Addresses(new URL(service), hostHeader);
  const { head } = headOf(FORWARDED);
  const base = addresses.readBase(head);
  const block = latin1(`..Found\r\n${fields.map((line) => `${line}\r\n`).join("")}..`);
  const edited = addresses.editResponse(block, 2, block.length - 2, base);
  return edited === null ? null : toText(edited).split("\r\n").slice(1, -1);
}

const rewritten: [line: string, expected: string][] = [
  ["Location: http://localhost:3000/a?b#c", `Location: https://${HOST}/a?b#c`],
  ["location:http://LOCALHOST:3000", `location:https://${HOST}`],
  ["location: https://127.0.0.1:3000/", `location: https://${HOST}/`],
  ["location: http://[::1]:3000/", `location: https://${HOST}/`],
  ["location: //localhost:3000/", `location: https://${HOST}/`],
  ["location: http://localhost/behind-a-port-mapping", `location: https://${HOST}/behind-a-port-mapping`],
  ["content-location: http://localhost:3000/a", `content-location: https://${HOST}/a`],
  ["Refresh: 5; URL=http://localhost:3000/a", `Refresh: 5; URL=https://${HOST}/a`],
  ['refresh: 0;url="http://localhost:3000/a"', `refresh: 0;url="https://${HOST}/a"`],
  [
    "Link: <http://localhost:3000/a>; rel=next, </b>; rel=x, <https://cdn.example/c>, <http://127.0.0.1:3000/d>",
    `Link: <https://${HOST}/a>; rel=next, </b>; rel=x, <https://cdn.example/c>, <https://${HOST}/d>`,
  ],
  ["Set-Cookie: a=b; Path=/; Domain=localhost; HttpOnly", `Set-Cookie: a=b; Path=/; Domain=${HOST}; HttpOnly`],
  ["set-cookie: a=b;domain=.127.0.0.1", `set-cookie: a=b;domain=.${HOST}`],
  ["Access-Control-Allow-Origin: http://localhost:3000", `Access-Control-Allow-Origin: https://${HOST}`],
];

for (const [line, expected] of rewritten) {
  Deno.test(`an answer's ${line.slice(0, 60)} names the public URL`, () => {
    assert.deepEqual(answer(["x: http://localhost:3000/", line, "y: \xe9"]), [
      "x: http://localhost:3000/",
      expected,
      "y: \xe9",
    ]);
  });
}

Deno.test("an answer that names somebody else, or nobody, stays as it is", () => {
  for (
    const line of [
      "location: /a",
      "location: http://localhost:4000/another-service",
      "location: http://localhost:3000.evil.example/",
      "location: http://localhost:3000@evil.example/",
      "location: https://login.example/?redirect_uri=http://localhost:3000/back",
      "location: ws://localhost:3000/",
      "access-control-allow-origin: *",
      "access-control-allow-origin: null",
      "set-cookie: domain=localhost; Path=/",
      "set-cookie: a=b; Domain=example.com",
      "link: </a.css>; rel=preload",
      "locations: http://localhost:3000/",
      "x-location: http://localhost:3000/",
      "refresh: 5",
    ]
  ) assert.equal(answer([line]), null, line);
});

Deno.test("a Host of the user's own is one of the service's names", () => {
  assert.deepEqual(answer(["location: https://app.test/x"], "http://localhost:3000", "app.test"), [
    `location: https://${HOST}/x`,
  ]);
  assert.deepEqual(answer(["set-cookie: a=b; domain=app.test"], "http://localhost:3000", "app.test"), [
    `set-cookie: a=b; domain=${HOST}`,
  ]);
});

Deno.test("Addresses.readBase tells public URLs apart, with their port and scheme", () => {
  const addresses = new Addresses(new URL("http://localhost:3000"), "localhost:3000");
  const base = (host: string, proto: string) => {
    const { head } = headOf([`x-forwarded-proto: ${proto}`], host);
    return addresses.readBase(head).origin;
  };
  for (const [host, proto] of [["a.test:8787", "http"], ["a.test:8787", "https"], ["b.test:8787", "https"]]) {
    assert.equal(base(host, proto), `${proto}://${host}`);
    assert.equal(base(host, proto), `${proto}://${host}`);
  }
});

Deno.test("what is edited in a head is the values of named fields and nothing else", () => {
  const name = fc.constantFrom("origin", "referer", "location", "link", "set-cookie", "refresh", "x");
  const value = fc.array(
    fc.constantFrom(
      "http://localhost:3000",
      `https://${HOST}`,
      "; domain=localhost",
      "url=",
      "<",
      "/",
      " ",
      "\xff",
      ";",
      "a",
    ),
    { maxLength: 6 },
  ).map((parts) => parts.join(""));
  fc.assert(fc.property(fc.array(fc.tuple(name, value), { maxLength: 8 }), (fields) => {
    const lines = fields.map(([name, value]) => `${name}:${value}`);
    for (const after of [rewrite(lines), answer(lines) ?? lines]) {
      assert.deepEqual(after.map((line) => line.split(":")[0]), fields.map(([name]) => name));
      assert(after.every((line) => !/[\r\n]/.test(line)));
    }
  }));
});
