import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { HttpError } from "../../common/http_error.ts";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { startArea, type TestArea } from "./captures_kit_test.ts";
import type { CapturesOptions } from "./mod.ts";

/** The API responses, as far as the tests check them. */
interface Told {
  status: number;
  error: { code: string; field?: string };
  id: string;
  name: string;
  number: number;
  bytes: number;
  removed: number;
  next: number | null;
  captureUrl: string;
  browserUrl: string;
  answer: { status: number; body: string };
  views: { name: string }[];
  captures: { id: string }[];
}

async function askJson({ ask }: TestArea, path: string, who = "ann", init: RequestInit = {}): Promise<Told> {
  const response = await ask(path, who, init);
  return { status: response.status, ...(response.status === 204 ? {} : await response.json()) };
}

const post = (body: unknown): RequestInit => ({ method: "POST", body: JSON.stringify(body) });
const patch = (body: unknown): RequestInit => ({ method: "PATCH", body: JSON.stringify(body) });

/** Sends calls one after the other. */
async function send(url: string, calls: readonly RequestInit[], path = ""): Promise<void> {
  for (const call of calls) await (await fetch(url + path, call)).body?.cancel();
}

interface Event {
  id: number;
  data: { body: string; bodyTruncated?: true; bodySize: number };
}

/** Reads events from a stream until `count` have arrived. */
async function readEvents(response: Response, count: number): Promise<Event[]> {
  const events: Event[] = [];
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = (text + chunk).split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const event = /^id: (\d+)\nevent: capture\ndata: (.*)$/.exec(part);
      if (event !== null) events.push({ id: Number(event[1]), data: JSON.parse(event[2]) });
    }
    if (events.length >= count) break;
  }
  return events;
}

Deno.test("views are made, listed, changed and removed", async () => {
  await using area = await startArea();
  const first = await askJson(area, "/api/v1/views", "ann", { method: "POST" });
  equal(first.status, 201);
  deepEqual([first.name, first.number, first.bytes], ["Unnamed view #1", 1, 0]);
  equal(first.captureUrl, `http://api.example/req/${first.id}`);
  equal(first.browserUrl, `http://hq.example/views/${first.id}/capture`);
  deepEqual(first.answer, {
    ...{ status: 200, headers: [], body: "", delayMs: 0, cors: false },
    ...{ template: false, challenge: null, hasChallengeSecret: false },
  });
  const second = await askJson(area, "/api/v1/views", "ann", post({ name: "Stripe" }));
  deepEqual((await askJson(area, "/api/v1/views")).views.map(({ name }) => name), ["Unnamed view #1", "Stripe"]);
  const changed = await askJson(
    area,
    `/api/v1/views/${second.id}`,
    "ann",
    patch({ name: "Pay", answer: { status: 202 } }),
  );
  deepEqual([changed.name, changed.answer.status, changed.answer.body], ["Pay", 202, ""]);
  equal((await askJson(area, `/api/v1/views/${first.id}`, "ann", { method: "DELETE" })).status, 204);
  equal((await askJson(area, `/api/v1/views/${first.id}`)).error.code, "view_not_found");
  equal((await askJson(area, "/api/v1/views")).views.length, 1);
});

Deno.test("what cannot be used is 400 and names its field", async () => {
  await using area = await startArea();
  const { id } = await area.addView();
  const fields = async (body: unknown) => {
    const { status, error } = await askJson(area, `/api/v1/views/${id}`, "ann", patch(body));
    return `${status} ${error.code} ${error.field}`;
  };
  equal(await fields({ answer: { status: 101 } }), "400 bad_request answer.status");
  equal(await fields({ answer: { headers: [["set-cookie", "a=1"]] } }), "400 bad_request answer.headers.0.0");
  equal(await fields({ answer: { headers: [["Content-Length", "1"]] } }), "400 bad_request answer.headers.0.0");
  equal(await fields({ answer: { headers: [["x-a", "a\r\nb: c"]] } }), "400 bad_request answer.headers.0.1");
  equal(await fields({ answer: { headers: [["x-a", "\u20ac"]] } }), "400 bad_request answer.headers.0.1");
  equal(await fields({ maxCaptures: 1001 }), "400 bad_request maxCaptures");
  equal(await fields({ name: "" }), "400 bad_request name");
  equal(await fields({ name: "a\x1b[2Jb" }), "400 bad_request name");
  equal(await fields({ other: 1 }), "400 bad_request other");
  equal(await fields([]), "400 bad_request undefined");
  for (const query of ["limit=x", "limit=0", "limit=501", "before=-1", "from=soon"]) {
    equal((await askJson(area, `/api/v1/views/${id}/captures?${query}`)).error.field, query.split("=")[0]);
  }
});

Deno.test("captures are found by the text that pages show: decoded, unescaped, and in their charset", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  const post = async (body: BodyInit, headers: Record<string, string>) =>
    await (await fetch(captureUrl, { method: "POST", body, headers })).body?.cancel();
  const gzipped = new Response(new Blob(["hidden in gzip"]).stream().pipeThrough(new CompressionStream("gzip")));
  await post(await gzipped.bytes(), { "content-encoding": "gzip", "content-type": "text/plain" });
  await post('{"name":"Zo\\u00eb","path":"a\\/b"}', { "content-type": "application/json" });
  await post("text=hello+big%20world%C3%AB", { "content-type": "application/x-www-form-urlencoded" });
  await post(Uint8Array.of(0x5a, 0x6f, 0xeb, 0x21), { "content-type": "text/plain; charset=iso-8859-1" });
  await post("broken", { "content-encoding": "gzip", "content-type": "text/plain; charset=nonsense" });
  await (await fetch(`${captureUrl}/sm%C3%B8rrebr%C3%B8d?q=two%20words`)).body?.cancel();
  const find = async (q: string) =>
    (await askJson(area, `/api/v1/views/${id}/captures?q=${encodeURIComponent(q)}`)).captures.map((one) => one.id);
  deepEqual(await find("hidden IN gzip"), ["1"]);
  deepEqual(await find("zoë"), ["4", "2"]);
  deepEqual(await find("a/b"), ["2"]);
  deepEqual(await find("hello big worldË"), ["3"]);
  deepEqual(await find("hello+big%20world"), ["3"]);
  deepEqual(await find("broken"), ["5"]);
  deepEqual(await find("smørrebrød"), ["6"]);
  deepEqual(await find("two words"), ["6"]);
});

Deno.test("a view is found by its id in upper case, where calls arrive and in the API", async () => {
  await using area = await startArea();
  const { id } = await area.addView();
  const upper = id.toUpperCase();
  equal((await area.ask(`/req/${upper}/x`)).status, 200);
  equal((await askJson(area, `/api/v1/views/${upper}/captures`)).captures.length, 1);
  equal((await askJson(area, `/api/v1/views/${upper}/captures/1`)).status, 200);
  equal((await area.ask(`/api/v1/views/${upper}/captures/1`, "ann", { method: "DELETE" })).status, 204);
  equal((await area.ask(`/api/v1/views/${upper}`, "ann", { method: "DELETE" })).status, 204);
  equal((await askJson(area, `/api/v1/views/${id}`)).error.code, "view_not_found");
});

Deno.test("a view's response cannot have a field that acts on the origin or on a reverse proxy", async () => {
  await using area = await startArea();
  const { id } = await area.addView();
  const names = [
    ["WWW-Authenticate", "Proxy-Authenticate", "Secure-Session-Registration", "Set-Login", "Use-As-Dictionary"],
    ["Speculation-Rules", "X-Accel-Redirect", "X-Sendfile", "X-LiteSpeed-Location", "Link", "Refresh", "Set-Cookie"],
  ].flat();
  const change = async (name: string) =>
    (await askJson(area, `/api/v1/views/${id}`, "ann", patch({ answer: { headers: [[name, "x"]] } }))).status;
  for (const name of names) equal(await change(name), 400, name);
  for (const name of ["Content-Type", "X-Hook-Secret", "WebHook-Allowed-Origin", "Retry-After"]) {
    equal(await change(name), 200, name);
  }
  // An older version stored such fields.
  await area.store.db.updateTable("views").set({ answer_headers: JSON.stringify([["X-Accel-Redirect", "/x"]]) })
    .execute();
  equal((await area.ask(`/req/${id}`)).headers.get("x-accel-redirect"), null);
});

Deno.test("a deleted capture can be restored by who may delete it", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  await send(captureUrl, [{ method: "POST", body: "precious" }]);
  const path = `/api/v1/views/${id}/captures/1`;
  const before = await askJson(area, path);
  equal((await area.ask(path, "ann", { method: "DELETE" })).status, 204);
  equal((await askJson(area, path)).error.code, "capture_not_found");
  equal((await askJson(area, `${path}/restore`, "abe", { method: "POST" })).error.code, "scope_missing");
  equal((await askJson(area, `${path}/restore`, "bob", { method: "POST" })).error.code, "view_not_found");
  equal((await area.ask(`${path}/restore`, "ann", { method: "POST" })).status, 204);
  deepEqual(await askJson(area, path), before);
  equal((await askJson(area, `${path}/restore`, "ann", { method: "POST" })).error.code, "capture_not_found");
});

Deno.test("deleting captures honours every filter that listing them has", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  const list = async (query = "") =>
    (await askJson(area, `/api/v1/views/${id}/captures${query}`)).captures.map((capture) => capture.id);
  const remove = async (query: string) => {
    const response = await area.ask(`/api/v1/views/${id}/captures${query}`, "ann", { method: "DELETE" });
    return await response.json() as { removed?: number; error?: { code: string; field: string } };
  };
  for (let count = 0; count < 130; count++) await send(captureUrl, [{ method: "GET" }, { method: "POST", body: "x" }]);
  await send(captureUrl, [{ method: "PUT", body: "needle" }], "/haystack");
  deepEqual(await remove("?method=POST"), { removed: 130 });
  equal((await list("?limit=500")).length, 131);
  deepEqual(await remove("?q=needle&path=/elsewhere"), { removed: 0 });
  deepEqual(await remove("?q=needle&path=/haystack"), { removed: 1 });
  deepEqual(await remove("?after=1&before=6"), { removed: 2 });
  deepEqual(await remove(`?to=${encodeURIComponent(new Date(0).toISOString())}`), { removed: 0 });
  for (const query of ["?metod=GET", "?limit=10", "?method=GET&method=POST", "?after=x"]) {
    equal((await remove(query)).error?.code, "bad_request", query);
  }
  equal((await list("?limit=500")).length, 128);
  deepEqual(await remove(""), { removed: 128 });
  deepEqual(await list(), []);
});

Deno.test("an account has as many views as it may", async () => {
  await using area = await startArea({ maxViews: 1 });
  await area.addView();
  deepEqual(await askJson(area, "/api/v1/views", "ann", post({})).then(({ status, error }) => [status, error.code]), [
    403,
    "too_many_views",
  ]);
});

Deno.test("a view is its account's, and a token may what its scopes say", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  await send(captureUrl, [{}]);
  const paths = ["", "/captures", "/captures/1", "/captures/1/body", "/stream"];
  for (const path of paths) {
    equal((await askJson(area, `/api/v1/views/${id}${path}`, "bob")).error.code, "view_not_found");
    equal((await askJson(area, `/api/v1/views/${id}${path}`, "nobody")).error.code, "unauthorized");
  }
  for (const path of ["", "/captures", "/captures/1"]) {
    equal(
      (await askJson(area, `/api/v1/views/${id}${path}`, "bob", { method: "DELETE" })).error.code,
      "view_not_found",
    );
    equal((await askJson(area, `/api/v1/views/${id}${path}`, "abe", { method: "DELETE" })).error.code, "scope_missing");
  }
  equal((await askJson(area, `/api/v1/views/${id}`, "abe", patch({ name: "x" }))).error.code, "scope_missing");
  equal((await askJson(area, "/api/v1/views", "abe", post({}))).error.code, "scope_missing");
  equal((await askJson(area, `/api/v1/views/${id}/captures/1`, "abe")).status, 200);
});

Deno.test("captures are found by method, path, text in head and body, and time, in any case", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  await send(captureUrl, [{ method: "POST", body: "Grüße from the body" }], "/orders?n=1");
  await send(captureUrl, [{ headers: { "x-note": "In A Header" } }, { method: "PUT", body: "other" }], "/users");
  const find = async (query: string) =>
    (await askJson(area, `/api/v1/views/${id}/captures?${query}`)).captures.map((capture) => capture.id);
  deepEqual(await find(""), ["3", "2", "1"]);
  deepEqual(await find("method=PUT"), ["3"]);
  deepEqual(await find("path=/USERS"), ["3", "2"]);
  deepEqual(await find("path=n%3D1"), ["1"]);
  deepEqual(await find("q=grüße"), ["1"]);
  deepEqual(await find("q=x-note:%20in%20a"), ["2"]);
  deepEqual(await find("q=other&method=GET"), []);
  deepEqual(await find("from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z"), []);
  deepEqual(await find("from=2020-01-01T00:00:00Z&limit=2"), ["3", "2"]);
  deepEqual(await find("limit=2&before=3"), ["2", "1"]);
});

Deno.test("pages of a search lead through all that was captured", async () => {
  await using area = await startArea({ maxCaptures: 5000 });
  const { id } = await area.addView({ maxCaptures: 5000 });
  const capture = {
    viewId: id,
    receivedAt: Date.now(),
    method: "GET",
    path: `/req/${id}`,
    host: "x",
    httpVersion: "1.1",
    headers: [],
    address: "::1",
    contentType: null,
    body: new Uint8Array(0),
    bodySize: 0,
    bodyId: null,
    trailers: [],
  };
  const captures = Array.from({ length: 4500 }, (_, at) => at % 1500 ? capture : { ...capture, method: "RARE" });
  await area.store.captures.keep({ captures, chunks: [] }, Number.MAX_SAFE_INTEGER);
  const found: string[] = [];
  let pages = 0;
  for (let before = ""; before !== "null"; pages++) {
    const page = await askJson(area, `/api/v1/views/${id}/captures?q=rare&limit=1${before && `&before=${before}`}`);
    found.push(...page.captures.map((one) => one.id));
    before = String(page.next);
  }
  deepEqual(found, ["3001", "1501", "1"]);
  equal(pages <= 6, true);
});

Deno.test("captures are deleted one by one and all at once", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  await send(captureUrl, [{}, {}, {}]);
  equal((await askJson(area, `/api/v1/views/${id}/captures/2`, "ann", { method: "DELETE" })).status, 204);
  equal(
    (await askJson(area, `/api/v1/views/${id}/captures/2`, "ann", { method: "DELETE" })).error.code,
    "capture_not_found",
  );
  equal((await askJson(area, `/api/v1/views/${id}/captures/0`)).error.code, "capture_not_found");
  equal((await askJson(area, `/api/v1/views/${id}/captures`, "ann", { method: "DELETE" })).removed, 2);
  await send(captureUrl, [{}]);
  deepEqual((await askJson(area, `/api/v1/views/${id}/captures`)).captures.map((one) => one.id), ["4"]);
});

Deno.test("a body is a file that no browser shows", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  await send(captureUrl, [{
    method: "POST",
    body: "<script>alert(1)</script>",
    headers: { "content-type": "text/html" },
  }]);
  const response = await area.ask(`/api/v1/views/${id}/captures/1/body`);
  equal(await response.text(), "<script>alert(1)</script>");
  equal(response.headers.get("content-type"), "application/octet-stream");
  match(response.headers.get("content-disposition") ?? "", /^attachment;/);
  match(response.headers.get("content-security-policy") ?? "", /sandbox/);
  equal(response.headers.get("x-content-type-options"), "nosniff");
});

Deno.test("a capture that goes while it is sent again is 404", async () => {
  const send: CapturesOptions["send"] = async ({ body }) => {
    for await (const _ of body as AsyncIterable<Uint8Array>) await area.store.captures.removeAll(id);
    throw new Error("a body that is not whole was taken for one");
  };
  await using area = await startArea({ send });
  const { id, captureUrl } = await area.addView();
  const body = new Uint8Array(1_000_000);
  for (let count = 0; count < 2; count++) await (await fetch(captureUrl, { method: "POST", body })).text();
  const replay = { method: "POST", body: JSON.stringify({ url: "http://h" }) };
  const answer = await area.ask(`/api/v1/views/${id}/captures/1/replay`, "ann", replay);
  deepEqual([answer.status, (await answer.json()).error.code], [404, "capture_not_found"]);
});

Deno.test("a stream tells of what came after a cursor and of what comes, each once and in order", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  await send(captureUrl, Array(40).fill({ method: "POST", body: "x" }));
  const stream = await area.ask(`/api/v1/views/${id}/stream?after=2`);
  equal(stream.headers.get("content-type"), "text/event-stream");
  const events = readEvents(stream, 98);
  await Promise.all(Array.from({ length: 60 }, () => send(captureUrl, [{}])));
  deepEqual((await events).map((event) => event.id), Array.from({ length: 98 }, (_, index) => index + 3));
  equal(atob((await events)[0].data.body), "x");
  const resumed = await area.ask(`/api/v1/views/${id}/stream?after=2`, "ann", { headers: { "last-event-id": "99" } });
  deepEqual((await readEvents(resumed, 1)).map((event) => event.id), [100]);
});

Deno.test("a stream begins with captures that were received since a time", async () => {
  let time = 1000;
  await using area = await startArea({ now: () => time });
  const { id, captureUrl } = await area.addView();
  for (time = 1001; time <= 1005; time++) await send(captureUrl, [{}]);
  const idsOf = async (query: string, count: number) =>
    (await readEvents(await area.ask(`/api/v1/views/${id}/stream?${query}`), count)).map((event) => event.id);
  deepEqual(await idsOf("since=1004", 2), [4, 5]);
  deepEqual(await idsOf(`since=${new Date(0).toISOString()}`, 5), [1, 2, 3, 4, 5]);
  deepEqual(await idsOf("since=1004&after=1", 4), [2, 3, 4, 5]);
  equal((await askJson(area, `/api/v1/views/${id}/stream?since=soon`)).error.field, "since");
});

Deno.test("a stream without a cursor tells of what comes from now on, long bodies left out", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  await send(captureUrl, [{}]);
  const stream = await area.ask(`/api/v1/views/${id}/stream`);
  await send(captureUrl, [{ method: "POST", body: new Uint8Array(70_000) }]);
  const [{ id: cursor, data }] = await readEvents(stream, 1);
  deepEqual([cursor, data.bodyTruncated, data.body, data.bodySize], [2, true, undefined, 70_000]);
});

Deno.test("captures that a view captures again count among what an account may have sent at a time", async () => {
  const { promise: sending, resolve: began } = Promise.withResolvers<void>();
  const { promise: answered, reject: end } = Promise.withResolvers<never>();
  let count = 0;
  const hang = () => {
    if (++count === 2) began();
    return answered;
  };
  await using area = await startArea({ send: hang });
  const { id, captureUrl } = await area.addView();
  await send(captureUrl, [{}]);
  const again = (url?: string) => askJson(area, `/api/v1/views/${id}/captures/1/replay`, "ann", post({ url }));
  const sent = [again("http://h"), again("http://h")];
  await sending;
  const { status, error } = await again();
  deepEqual([status, error.code], [429, "replay_busy"]);
  end(new HttpError(502, "upstream_refused", "Over."));
  await Promise.all(sent);
  equal((await again()).status, 201);
});

const askDecoded = (area: TestArea, id: string, capture: number, decoded = "true") =>
  area.ask(`/api/v1/views/${id}/captures/${capture}/body?decoded=${decoded}`);

Deno.test("a body is told without its coding, and byte for byte", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  const text = "line\n".repeat(100_000);
  const sent: [coding: string, bytes: Uint8Array][] = [
    ["gzip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["Deflate", deflateRawSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", zstdCompressSync(text)],
    ["gzip, br", brotliCompressSync(gzipSync(text))],
    ["identity", Buffer.from(text)],
  ];
  for (const [coding, body] of sent) {
    await send(captureUrl, [{ method: "POST", body: Uint8Array.from(body), headers: { "content-encoding": coding } }]);
  }
  await send(captureUrl, [{ method: "POST", body: text }, {}]);
  for (const [at, [coding, body]] of [...sent, ["none", Buffer.from(text)] as const].entries()) {
    const answer = await askDecoded(area, id, at + 1);
    equal(answer.headers.get("content-type"), "application/octet-stream");
    equal(await answer.text(), text, coding);
    const raw = await (await askDecoded(area, id, at + 1, "false")).bytes();
    equal(Buffer.compare(raw, body), 0, coding);
  }
  equal(await (await askDecoded(area, id, sent.length + 2)).text(), "");
});

Deno.test("a body that cannot be decoded says why, and one that holds too much is cut off", async () => {
  await using area = await startArea();
  const { id, captureUrl } = await area.addView();
  const coded = (coding: string, body: BodyInit): RequestInit => ({
    method: "POST",
    body,
    headers: { "content-encoding": coding },
  });
  await send(captureUrl, [
    coded("br", "no such thing"),
    coded("compress", "no such thing"),
    coded("gzip, gzip, gzip, gzip, gzip", "no such thing"),
    coded("gzip", Uint8Array.from(gzipSync(new Uint8Array(100_000_000), { level: 1 }))),
  ]);
  const codes = [];
  for (const capture of [1, 2, 3]) {
    const answer = await askDecoded(area, id, capture);
    codes.push(answer.status, (await answer.json()).error.code);
  }
  deepEqual(codes, [422, "not_decoded", 415, "coding_unknown", 415, "coding_unknown"]);
  const odd = await askDecoded(area, id, 1, "1");
  deepEqual([odd.status, (await odd.json()).error.field], [400, "decoded"]);
  let size = 0;
  await rejects(async () => {
    for await (const chunk of (await askDecoded(area, id, 4)).body ?? []) size += chunk.length;
  });
  equal(size > 60_000_000 && size <= 64 * 1024 * 1024, true, `${size}`);
});
