import { deepEqual, equal, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { OpenedCaptureJson } from "../../../../common/captures/capture_json.ts";
import { toCurl } from "./capture_export.js";

/** A request as a sender wrote it: one character a byte. Host is added. */
interface Sent {
  method: string;
  /** Behind the view's own path. */
  target: string;
  fields: [string, string][];
  body?: string;
}

const CURL_LIKE: [string, string][] = [["User-Agent", "sender/1"], ["Accept", "*/*"]];
const withBody = (body: string, ...fields: [string, string][]): Pick<Sent, "fields" | "body"> => ({
  fields: [...fields, ["Content-Length", String(body.length)]],
  body,
});

const CORPUS: readonly Sent[] = [
  { method: "GET", target: "", fields: CURL_LIKE },
  { method: "GET", target: "/a", fields: [] },
  { method: "HEAD", target: "/a", fields: CURL_LIKE },
  { method: "HEAD", target: "/a", ...withBody("odd") },
  { method: "GET", target: "/a?x[]=1&y={a,b}&z=[1-3]", fields: [] },
  { method: "GET", target: "/a/../b/./c/..", fields: [] },
  { method: "GET", target: "/a?", fields: [] },
  { method: "GET", target: "//double//slash/", fields: [] },
  { method: "GET", target: '/it\'s?q="$HOME"&w=`id`&%20+%e9;|<>', fields: [] },
  { method: "GET", target: "/\xe9/\xc3\xa9?b=\xff", fields: [] },
  { method: "POST", target: "/empty", fields: [["Content-Length", "0"]] },
  { method: "POST", target: "/none", fields: [] },
  { method: "DELETE", target: "/a", fields: [["X-A", "1"], ["x-a", "2"], ["X-Empty", ""]] },
  {
    method: "POST",
    target: "/json",
    ...withBody('{"a":"it\'s"}\n\n', ["Content-Type", "application/json"], ...CURL_LIKE),
  },
  { method: "POST", target: "/untyped", ...withBody("hello") },
  { method: "PUT", target: "/file", ...withBody("@/etc/passwd", ["Content-Type", "text/plain"]) },
  { method: "PATCH", target: "/binary", ...withBody("\0\xff%s\\n\r\n", ["Content-Type", "application/octet-stream"]) },
  { method: "GET", target: "/body", ...withBody("x=1", ["Content-Type", "application/x-www-form-urlencoded"]) },
  { method: "POST", target: "/chunked", fields: [["Transfer-Encoding", "chunked"]], body: "chunked body" },
  {
    method: "GET",
    target: "/latin",
    fields: [["X-Note", "caf\xe9 %d \\n 'q' $(id)"], ["X-Utf8", "Gr\xc3\xbc\xc3\x9fe"]],
  },
  {
    method: "GET",
    target: "/odd",
    fields: [["X-Tab", "a\tb"], ["Cookie", "a=1; b=2"], ["Authorization", "Basic eA=="]],
  },
  { method: "PROPFIND", target: "/dav", fields: [["Depth", "1"], ["Accept-Encoding", "gzip"], ["Range", "bytes=0-1"]] },
  { method: "POST", target: "/large", ...withBody("x".repeat(40_000), ["Content-Type", "text/plain"]) },
];

Deno.test("a command of curl sends the bytes that were captured, for every request of a corpus", async () => {
  using recorder = startRecorder();
  for (const sent of CORPUS) {
    const url = `http://127.0.0.1:${recorder.port}/req/0123`;
    const command = toCurl(toCapture(sent), url, Buffer.from(sent.body ?? "", "latin1") as Uint8Array<ArrayBuffer>);
    const { stderr, success } = await new Deno.Command("sh", { args: ["-c", command] }).output();
    ok(success, `${command}\n${new TextDecoder().decode(stderr)}`);
    const { line, fields, body } = recorder.take();
    equal(line, `${sent.method} /req/0123${sent.target} HTTP/1.1`, command);
    deepEqual(sortLength(fields), sortLength(sent.fields), command);
    equal(body, sent.body ?? "", command);
  }
});

Deno.test("a body that is too long for a command is read from the file that the page saves", () => {
  const capture = toCapture({ method: "POST", target: "", ...withBody("long") });
  ok(toCurl(capture, "http://h/req/0123", null).endsWith("--data-binary '@capture-7'"));
});

/** The place of Content-Length among the fields is curl's choice. */
function sortLength(fields: readonly [string, string][]): [string, string][] {
  const isFraming = ([name]: readonly [string, string]) => /^(content-length|transfer-encoding)$/i.test(name);
  const isConnection = ([name, value]: readonly [string, string]) => name === "Connection" && value === "close";
  const others = fields.filter((field) => !isFraming(field) && !isConnection(field));
  return [...others, ...fields.filter(isFraming)];
}

function toCapture({ method, target, fields, body = "" }: Sent): OpenedCaptureJson {
  const mark = target.indexOf("?");
  return {
    id: "7",
    cursor: 7,
    receivedAt: "2026-01-31T12:00:00.000Z",
    method,
    host: "example.com",
    path: `/req/0123${mark < 0 ? target : target.slice(0, mark)}`,
    query: mark < 0 ? null : target.slice(mark + 1),
    httpVersion: "1.1",
    headers: [["Host", "example.com"], ...fields],
    address: "192.0.2.1",
    bodySize: body.length,
    contentType: fields.find(([name]) => name === "Content-Type")?.[1] ?? null,
    body: btoa(body),
  };
}

interface Recorded {
  line: string;
  fields: [string, string][];
  body: string;
}

/** A server that keeps the bytes of each request and answers with nothing. */
function startRecorder() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const recorded: Recorded[] = [];
  (async () => {
    for await (const connection of listener) {
      record(connection).then((request) => recorded.push(request)).catch(() => {}).finally(() => connection.close());
    }
  })().catch(() => {});
  return {
    port: listener.addr.port,
    take: (): Recorded => {
      equal(recorded.length, 1);
      return recorded.splice(0)[0];
    },
    [Symbol.dispose]: () => listener.close(),
  };
}

async function record(connection: Deno.Conn): Promise<Recorded> {
  let text = "";
  const buffer = new Uint8Array(65_536);
  let request = parse(text);
  while (request === null) {
    const read = await connection.read(buffer);
    if (read === null) throw new Error("the request was cut short");
    text += Buffer.from(buffer.subarray(0, read)).toString("latin1");
    request = parse(text);
  }
  const { line } = request;
  const length = line.startsWith("HEAD ") ? "Content-Length: 5" : "Content-Length: 0";
  await connection.write(new TextEncoder().encode(`HTTP/1.1 200 OK\r\n${length}\r\nConnection: close\r\n\r\n`));
  return request;
}

/** The request that a text contains; null while it is incomplete. */
function parse(text: string): Recorded | null {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [line, ...lines] = text.slice(0, end).split("\r\n");
  const all = lines.map((field): [string, string] => {
    const colon = field.indexOf(":");
    return [field.slice(0, colon), field.slice(colon + 1).trim()];
  });
  const rest = text.slice(end + 4);
  const fields = all.filter(([name]) => name !== "Host");
  const length = Number(fields.find(([name]) => name === "Content-Length")?.[1] ?? 0);
  if (fields.every(([name]) => name !== "Transfer-Encoding")) {
    return rest.length < length ? null : { line, fields, body: rest };
  }
  const [size, chunk, last] = rest.split("\r\n");
  return last === "0" ? { line, fields, body: chunk.slice(0, parseInt(size, 16)) } : null;
}
