import { deepEqual, equal, throws } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { StreamError } from "./frames.ts";
import { RequestFields } from "./request_fields.ts";

type Field = readonly [name: string, value: string];
const bytes = (text: string) => Buffer.from(text, "latin1");

function gather(list: readonly Field[], isTrailers = false, maxSize = 32_768): RequestFields {
  const fields = new RequestFields();
  fields.begin(isTrailers, maxSize);
  for (const [name, value] of list) fields.add(bytes(name), bytes(value));
  return fields;
}

const METHOD: Field = [":method", "GET"], SCHEME: Field = [":scheme", "https"], PATH: Field = [":path", "/a?b"];
const AUTHORITY: Field = [":authority", "a.test"];
const LINE = [METHOD, SCHEME, PATH, AUTHORITY];
const headOf = (list: readonly Field[]) => Buffer.from(gather(list).takeHead()).toString("latin1");

Deno.test("RequestFields: a head has the form of HTTP/1.1", () => {
  const list: Field[] = [...LINE, ["x-a", "1"], ["x-a", ""], ["x-latin", "caf\xe9"], ["te", "Trailers"]];
  equal(
    headOf(list),
    "GET /a?b HTTP/1.1\r\nhost: a.test\r\nx-a: 1\r\nx-a: \r\nx-latin: caf\xe9\r\nte: Trailers\r\n\r\n",
  );
});

Deno.test("RequestFields: cookie fields are joined, and a host may be a field", () => {
  equal(
    headOf([METHOD, SCHEME, PATH, ["cookie", "a=1"], ["host", "b.test"], ["cookie", "b=2"], ["x-b", "2"]]),
    "GET /a?b HTTP/1.1\r\nhost: b.test\r\nx-b: 2\r\ncookie: a=1; b=2\r\n\r\n",
  );
  equal(headOf([METHOD, SCHEME, PATH]), "GET /a?b HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const both = gather([...LINE, ["host", "b.test"]]);
  both.takeHead();
  deepEqual([both.host, both.hasTwoHosts], ["a.test", true]);
  const same = gather([...LINE, ["host", "a.test"]]);
  same.takeHead();
  equal(same.hasTwoHosts, false);
});

const MALFORMED: readonly (readonly [name: string, fields: readonly Field[]])[] = [
  ["no method", [SCHEME, PATH]],
  ["no scheme", [METHOD, PATH]],
  ["no path", [METHOD, SCHEME]],
  ["an empty path", [METHOD, SCHEME, [":path", ""]]],
  ["two methods", [METHOD, ...LINE]],
  ["a status", [...LINE, [":status", "200"]]],
  ["a path after fields", [METHOD, SCHEME, ["x-a", "1"], PATH]],
  ["capitals in a name", [...LINE, ["X-a", "1"]]],
  ["no name", [...LINE, ["", "1"]]],
  ["a colon in a name", [...LINE, ["x:a", "1"]]],
  ["a line break in a name", [...LINE, ["x\r\nb", "1"]]],
  ["a line break in a value", [...LINE, ["x-a", "1\r\nb: 2"]]],
  ["a line break in a path", [METHOD, SCHEME, [":path", "/\r\nx: 1"]]],
  ["a line break in a host", [METHOD, SCHEME, PATH, [":authority", "a\nb"]]],
  ["NUL in a value", [...LINE, ["x-a", "1\0"]]],
  ["NUL in a cookie", [...LINE, ["cookie", "a=\0"]]],
  ["space before a value", [...LINE, ["x-a", " 1"]]],
  ["space after a value", [...LINE, ["x-a", "1\t"]]],
  ["two hosts", [METHOD, SCHEME, PATH, ["host", "a"], ["host", "b"]]],
  ["connection", [...LINE, ["connection", "close"]]],
  ["keep-alive", [...LINE, ["keep-alive", "1"]]],
  ["proxy-connection", [...LINE, ["proxy-connection", "close"]]],
  ["transfer-encoding", [...LINE, ["transfer-encoding", "chunked"]]],
  ["upgrade", [...LINE, ["upgrade", "websocket"]]],
  ["CONNECT with a path", [[":method", "CONNECT"], PATH, AUTHORITY]],
  ["CONNECT with a scheme", [[":method", "CONNECT"], SCHEME, AUTHORITY]],
  ["CONNECT without an authority", [[":method", "CONNECT"]]],
  ["CONNECT for another protocol", [[":method", "CONNECT"], ...LINE.slice(1), [":protocol", "websocket"]]],
  ["te other than trailers", [...LINE, ["te", "gzip"]]],
];

for (const [name, fields] of MALFORMED) {
  Deno.test(`RequestFields: ${name} is a stream error`, () => {
    throws(() => gather(fields).takeHead(), StreamError);
  });
}

Deno.test("RequestFields: trailers are field lines and have no pseudo-header fields", () => {
  const fields = gather([["x-sum", "3"], ["x-b", "a"]], true);
  equal(Buffer.from(fields.takeTrailers()).toString("latin1"), "x-sum: 3\r\nx-b: a\r\n");
  throws(() => gather([[":path", "/"]], true).takeTrailers(), StreamError);
  throws(() => gather([["connection", "x"]], true).takeTrailers(), StreamError);
});

Deno.test("RequestFields: trailers that change a checked request are dropped", () => {
  const names = ["content-length", "host", "authorization", "x-forwarded-for", "cookie"];
  const fields = gather([["x-sum", "3"], ...names.map((name): Field => [name, "1"])], true);
  equal(Buffer.from(fields.takeTrailers()).toString("latin1"), "x-sum: 3\r\n");
});

Deno.test("RequestFields: a head that exceeds the limit by one byte keeps its beginning", () => {
  const size = LINE.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  const fits: Field = ["x-a", "v".repeat(1000 - size - 7)];
  equal(gather([...LINE, fits], false, 1000).isTooLarge, false);
  const large = gather([...LINE, ["x-a", `${fits[1]}v`], ["x-b", "1"]], false, 1000);
  equal(large.isTooLarge, true);
  equal(Buffer.from(large.takeHead()).toString("latin1"), "GET /a?b HTTP/1.1\r\nhost: a.test\r\n\r\n");
  const path = gather([METHOD, SCHEME, [":path", `/${"p".repeat(2000)}`], AUTHORITY], false, 1000);
  path.takeHead();
  deepEqual([path.isTooLarge, path.path], [true, "/"]);
});
