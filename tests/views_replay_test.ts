/** Captures that the server sends again. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { rawRequest, within } from "./kit.ts";
import { openPage, signInByForm } from "./hq_kit.ts";
import { startViewsServer, USER, type ViewsServer } from "./views_kit.ts";

interface Told {
  status: number;
  statusText: string;
  url: string;
  headers: [string, string][];
  body: string;
  bodyTruncated?: true;
  capture: string;
  error: { code: string; field?: string };
}

async function replay({ ask }: ViewsServer, id: string, url?: string, capture = "1"): Promise<Told & { code: number }> {
  const body = JSON.stringify({ url });
  const answer = await ask(`/api/v1/views/${id}/captures/${capture}/replay`, { method: "POST", body });
  return { code: answer.status, ...await answer.json() };
}

interface Service extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** All that came until now. */
  came(): Buffer;
}

/** Answers each connection once what came ends with `last`. */
async function startService(answer: string, last: string, isEnded = true): Promise<Service> {
  const pieces: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (piece) => {
      pieces.push(Buffer.from(piece));
      if (!Buffer.from(piece).toString("latin1").endsWith(last)) return;
      if (isEnded) socket.end(Buffer.from(answer, "latin1"));
      else socket.write(Buffer.from(answer, "latin1"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    came: () => Buffer.concat(pieces),
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

const ALLOWING = { args: ["--view-replay-allow", "127.0.0.1"] };

Deno.test("a capture that is sent again arrives byte for byte, and its answer is told", async () => {
  await using views = await startViewsServer(ALLOWING);
  const { id, captureUrl } = await views.addView();
  const { host, port } = new URL(captureUrl);
  await rawRequest(
    Number(port),
    `PATCH /req/${id}/a%2fb/../\xe9?x=%zz&\xff HTTP/1.1\r\nhOST: ${host}\r\nX-Twice: 1\r\nx-tWICE: 2\r\nX-High: \x80\r\n` +
      "Keep-Alive: x\r\nContent-Length: 6\r\nConnection: close\r\n\r\n\x00\r\n\xffEN",
  );
  await using service = await startService("HTTP/1.1 202 So be it\r\nX-Odd: \xe9\r\n\r\nthanks\x00", "EN");
  const told = await replay(views, id, `${service.url}/hooks/`);
  equal(
    service.came().toString("latin1"),
    `PATCH /hooks/a%2fb/../\xe9?x=%zz&\xff HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\nX-Twice: 1\r\nx-tWICE: 2\r\n` +
      `X-High: \x80\r\nPortway-Capture: ${id}\r\nConnection: close\r\nContent-Length: 6\r\n\r\n\x00\r\n\xffEN`,
  );
  deepEqual([told.code, told.status, told.statusText, atob(told.body)], [200, 202, "So be it", "thanks\x00"]);
  deepEqual(told.headers, [["X-Odd", "\xe9"]]);
  equal(told.url, `${service.url}/hooks/a%2fb/../%E9?x=%zz&%FF`);
});

Deno.test("a capture is edited and sent again, past the same guard and with an audit entry that says so", async () => {
  await using views = await startViewsServer(ALLOWING);
  const { id, captureUrl } = await views.addView();
  await (await fetch(`${captureUrl}/orders?n=1`, { method: "POST", body: "old", headers: { "x-old": "1" } })).text();
  const send = async (url: string | undefined, edit: unknown) => {
    const init = { method: "POST", body: JSON.stringify({ url, edit }) };
    const response = await views.ask(`/api/v1/views/${id}/captures/1/replay`, init);
    const { error } = await response.json();
    return [response.status, error?.code, error?.field].filter((one) => one !== undefined);
  };
  await using service = await startService("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "NEW");
  const edit = { method: "PUT", path: "/\xe9?n=2", headers: [["X-New", "\xff"], ["x-new", "2"]], body: btoa("\0NEW") };
  deepEqual(await send(`${service.url}/base`, edit), [200]);
  equal(
    service.came().toString("latin1"),
    `PUT /base/\xe9?n=2 HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\nX-New: \xff\r\nx-new: 2\r\n` +
      `Portway-Capture: ${id}\r\nConnection: close\r\nContent-Length: 4\r\n\r\n\0NEW`,
  );
  const kept = await (await views.ask(`/api/v1/views/${id}/captures/1`)).json();
  deepEqual([kept.method, kept.query, atob(kept.body)], ["POST", "n=1", "old"], "the capture stays as it came");
  equal((await send("http://10.0.0.1/", edit))[0], 403);
  deepEqual(await send(undefined, edit), [400, "bad_request", "edit"]);
  const wrong: [unknown, string][] = [
    [{ method: "A B" }, "edit.method"],
    [{ path: "no slash" }, "edit.path"],
    [{ path: "/a b" }, "edit.path"],
    [{ headers: [["a b", "1"]] }, "edit.headers.0.0"],
    [{ headers: [["a", "1\r\nb: 2"]] }, "edit.headers.0.1"],
    [{ body: "%" }, "edit.body"],
  ];
  for (const [input, field] of wrong) deepEqual(await send(service.url, input), [400, "bad_request", field]);
  const cookie = await signInByForm(views.server, USER);
  const { text } = await openPage(`${views.server.url}/account/audit`, { headers: { cookie } });
  match(text, new RegExp(`127\\.0\\.0\\.1:${service.port}, edited, from`));
});

Deno.test("a long body is sent again whole, and of a long answer the beginning is told", async () => {
  await using views = await startViewsServer(ALLOWING);
  const { id, captureUrl } = await views.addView();
  const body = Buffer.concat([Buffer.alloc(10 * 1024 * 1024, "0123456789abcdef"), Buffer.from("END")]);
  await (await fetch(captureUrl, { method: "POST", body })).text();
  // An answer that never ends.
  await using service = await startService(`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(100_000)}`, "END", false);
  const told = await within("an answer", replay(views, id, service.url));
  const came = service.came();
  equal(Buffer.compare(came.subarray(came.indexOf("\r\n\r\n") + 4), body), 0);
  deepEqual([told.status, atob(told.body).length, told.bodyTruncated], [200, 64 * 1024, true]);
});

Deno.test("a capture without a URL is captured again by its view, whatever its length", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const body = crypto.getRandomValues(new Uint8Array(60_000)), long = new Uint8Array(1_000_000).fill(7);
  await (await fetch(`${captureUrl}/short?a`, { method: "PUT", body, headers: { "X-Own": "1" } })).text();
  await (await fetch(captureUrl, { method: "POST", body: long })).text();
  deepEqual(await replay(views, id), { code: 201, capture: "3" } as never);
  deepEqual((await replay(views, id, undefined, "2")).capture, "4");
  const read = async (capture: string) => {
    const { receivedAt: _, id: __, cursor: ___, ...rest } = await (await views.ask(
      `/api/v1/views/${id}/captures/${capture}`,
    )).json();
    const bytes = await (await views.ask(`/api/v1/views/${id}/captures/${capture}/body`)).arrayBuffer();
    return [rest, Buffer.from(bytes).toString("base64")];
  };
  deepEqual(await read("3"), await read("1"));
  deepEqual(await read("4"), await read("2"));
});

Deno.test("nothing is sent to addresses inside, to the server itself, or to what is no URL of HTTP", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  await (await fetch(captureUrl)).text();
  const code = async (url: string) => {
    const { code, error } = await replay(views, id, url);
    return `${code} ${error.code}`;
  };
  equal(await code("http://127.0.0.1:1"), "403 address_forbidden");
  equal(await code("http://169.254.169.254/latest"), "403 address_forbidden");
  equal(await code("http://anything.localhost/"), "403 address_forbidden");
  equal(await code("http://[::ffff:10.0.0.1]/"), "403 address_forbidden");
  equal(await code(captureUrl), "403 own_host_forbidden");
  equal(await code("http://x.try.localhost/"), "403 own_host_forbidden");
  equal(await code("http://u:p@example.com/"), "400 url_invalid");
  equal(await code("http://example.com:25/"), "403 port_forbidden");
  for (const url of ["ftp://example.com", "nothing", "http://example.com/?a=1", `http://${"x".repeat(3000)}`]) {
    const { code, error } = await replay(views, id, url);
    deepEqual([code, error.field], [400, "url"], url);
  }
  equal((await replay(views, id, undefined, "9")).error.code, "capture_not_found");
});

Deno.test("a capture that comes back to its view is told, and who does not answer too", async () => {
  await using views = await startViewsServer({ args: ["--view-replay-allow", "127.0.0.0/8"] });
  const { id, captureUrl } = await views.addView();
  await (await fetch(captureUrl)).text();
  const headers = { "Portway-Capture": id };
  equal(await fetch(captureUrl, { headers }).then(async (answer) => [await answer.text(), answer.status][1]), 508);
  await using broken = await startService("", "\r\n\r\n");
  const told = await replay(views, id, broken.url);
  deepEqual([told.code, told.error.code], [502, "upstream_reset"]);
  await using odd = await startService("SSH-2.0-x\r\n\r\n", "\r\n\r\n");
  equal((await replay(views, id, odd.url)).error.code, "upstream_not_http");
  equal((await replay(views, id, "http://127.0.0.1:1")).error.code, "upstream_refused");
});

Deno.test("who asks and leaves ends what is sent for them", async () => {
  await using views = await startViewsServer(ALLOWING);
  const { id, captureUrl } = await views.addView();
  await (await fetch(captureUrl)).text();
  const came = Promise.withResolvers<void>(), left = Promise.withResolvers<void>();
  const silent = createServer((socket) => {
    socket.on("error", () => {}).on("data", () => came.resolve()).on("close", () => left.resolve());
  });
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const leave = new AbortController(), { port } = silent.address() as AddressInfo;
  const body = JSON.stringify({ url: `http://127.0.0.1:${port}` });
  const asked = views.ask(`/api/v1/views/${id}/captures/1/replay`, { method: "POST", body, signal: leave.signal });
  await within("the call", came.promise);
  leave.abort();
  await rejects(asked);
  await within("the end of the call", left.promise);
  await new Promise((resolve) => silent.close(resolve));
});

Deno.test("an account has as many sent again as it may, and none where the operator wants none", async () => {
  await using views = await startViewsServer({ args: ["--view-replays-per-minute", "2"] });
  const { id, captureUrl } = await views.addView();
  await (await fetch(captureUrl)).text();
  await replay(views, id);
  await replay(views, id);
  const { code, error } = await replay(views, id);
  deepEqual([code, error.code], [429, "too_many_requests"]);
  await using closed = await startViewsServer({ args: ["--view-replays-per-minute", "0"] });
  const view = await closed.addView();
  await (await fetch(view.captureUrl)).text();
  equal((await replay(closed, view.id)).error.code, "replay_off");
});

Deno.test("the audit log says who had what sent again, and to which host", async () => {
  await using views = await startViewsServer(ALLOWING);
  const { id, captureUrl } = await views.addView("Orders");
  await (await fetch(captureUrl)).text();
  await using service = await startService("HTTP/1.1 204 No Content\r\n\r\n", "\r\n\r\n");
  await replay(views, id, `${service.url}/hooks/s3cret`);
  await replay(views, id, `${service.url}/hooks/s3cret`);
  await replay(views, id, "http://10.0.0.1/s3cret");
  await replay(views, id);
  const cookie = await signInByForm(views.server, USER);
  for (const path of ["/admin/audit", "/account/audit"]) {
    const { text } = await openPage(views.server.url + path, { headers: { cookie } });
    const rows = [...text.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row]) => row.replace(/<[^>]*>/g, " "))
      .filter((row) => row.includes("Orders")).map((row) => row.replace(/\s+/g, " ").trim());
    equal(rows.length, 2, text);
    match(rows[0], /^Capture not replayed 10\.0\.0\.1, from Orders ann@example\.com /);
    match(rows[1], new RegExp(`^Capture replayed 127\\.0\\.0\\.1:${service.port}, from Orders ann@example\\.com `));
    equal(text.includes("s3cret"), false);
  }
});

Deno.test("who follows a view gets what is captured again", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  await (await fetch(captureUrl, { method: "POST", body: "again" })).text();
  await using tail = views.startClient(["--views-tail", id, "--json"]);
  await tail.events.waitFor("tailing");
  await replay(views, id);
  const event = await tail.events.waitFor("capture");
  match(JSON.stringify(event), new RegExp(btoa("again")));
});
