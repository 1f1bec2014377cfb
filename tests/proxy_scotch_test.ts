import { deepEqual, equal, match } from "node:assert/strict";
import { startTestProxy, startTestUpstream } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1" };

/** Asks as a page of Hoppscotch does. */
async function askAsHoppscotch(url: string, more: Record<string, unknown>) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "origin": "https://hoppscotch.io" },
    body: JSON.stringify({
      method: "GET",
      headers: {},
      params: {},
      data: "",
      wantsBinary: true,
      accessToken: "",
      ...more,
    }),
  });
  equal(response.status, 200);
  equal(response.headers.get("access-control-allow-origin"), "*");
  return await response.json();
}

async function echo(request: Request): Promise<Response> {
  const body = `${request.method} ${new URL(request.url).search} ${request.headers.get("authorization")} ${await request
    .text()}`;
  return new Response(body, { headers: [["X-Upper", "One"], ["set-cookie", "a=1"], ["set-cookie", "b=2"]] });
}

Deno.test("a client of proxyscotch gets status, lower-case headers and unpadded base64", async () => {
  await using upstream = startTestUpstream(echo);
  await using proxy = await startTestProxy(ALLOW);
  const answer = await askAsHoppscotch(`${proxy.url}/proxy/request`, {
    url: `${upstream.url}/?a=1&b=2`,
    method: "POST",
    params: { b: "3", c: "4" },
    auth: { username: "me", password: "pw" },
    data: "payload",
  });
  deepEqual(Object.keys(answer), ["success", "isBinary", "status", "statusText", "headers", "data"]);
  deepEqual([answer.success, answer.isBinary, answer.status, answer.statusText], [true, true, 200, "OK"]);
  equal(answer.headers["x-upper"], "One");
  equal(answer.headers["set-cookie"], "b=2");
  equal(answer.data.includes("="), false);
  equal(atob(answer.data), `POST ?a=1&b=3&c=4 Basic ${btoa("me:pw")} payload`);
  const kept = await askAsHoppscotch(`${proxy.url}/proxy/request`, {
    url: `${upstream.url}/?26482&x=%E4&y=a%20b&z`,
    params: { z: "1" },
  });
  match(atob(kept.data), /^GET \?26482&x=%E4&y=a%20b&z=1 /);
});

Deno.test("a client of proxyscotch gets plain text when it wants no binary, in names of any case", async () => {
  await using upstream = startTestUpstream(() => new Response("grüße"));
  await using proxy = await startTestProxy(ALLOW);
  const response = await proxy.request({ AccessToken: "", WantsBinary: false, Method: "GET", Url: upstream.url });
  const answer = await response.json();
  deepEqual([answer.success, answer.isBinary, answer.data], [true, false, "grüße"]);
});

Deno.test("a client of proxyscotch is known by its spelling, and by credentials that do not say of what kind", async () => {
  await using upstream = startTestUpstream(echo);
  await using proxy = await startTestProxy(ALLOW);
  const auth = { username: "u", password: "p" };
  for (
    const description of [
      { Method: "GET", Url: upstream.url },
      { METHOD: "GET", URL: upstream.url, Auth: { Username: "u", Password: "p" } },
      { method: "GET", url: upstream.url, auth },
      { method: "GET", url: upstream.url, headers: {}, auth: { username: "u" } },
    ]
  ) {
    const answer = await (await proxy.request(description)).json();
    deepEqual([answer.success, answer.status], [true, 200], JSON.stringify(description));
  }
});

Deno.test("descriptions of the proxy's own are taken for no others, wrong ones neither", async () => {
  await using upstream = startTestUpstream(echo);
  await using proxy = await startTestProxy(ALLOW);
  const { url } = upstream;
  for (
    const description of [
      { method: "GET", url },
      { method: "GET", url, auth: null },
      { method: "GET", url, auth: { type: "basic", username: "u", password: "p" } },
    ]
  ) {
    equal((await (await proxy.request(description)).json()).isBase64, false, JSON.stringify(description));
  }
  for (
    const [description, field] of [
      [{ method: "GET", url, redirect: "manual", auth: { username: "u", password: "p" } }, "auth.type"],
      [{ url, auth: { username: "u", password: "p" } }, "auth.type"],
      [{ method: "GET", url, auth: {} }, "auth.type"],
      [{ url, MaxBytes: 5 }, "MaxBytes"],
    ] as const
  ) {
    const response = await proxy.request(description);
    deepEqual([response.status, (await response.json()).error.field], [400, field]);
  }
});

Deno.test("a client of proxyscotch is told of failures with success false under status 200", async () => {
  await using proxy = await startTestProxy({ proxyToken: "right" });
  const wrong = await askAsHoppscotch(`${proxy.url}/proxy/request`, {
    url: "http://example.com/",
    accessToken: "wrong",
  });
  equal(wrong.success, false);
  match(wrong.data.message, /^\(Proxy Error\) /);
  const forbidden = await askAsHoppscotch(`${proxy.url}/proxy/request`, {
    url: "http://10.0.0.1/",
    accessToken: "right",
  });
  deepEqual(forbidden, { success: false, data: { message: '(Proxy Error) "10.0.0.1" is not a public address.' } });
  const invalid = await askAsHoppscotch(`${proxy.url}/proxy/request`, { url: 7, accessToken: "right" });
  equal(invalid.success, false);
});

Deno.test("a client of proxyscotch sends a form whose part proxyRequestData describes the request", async () => {
  await using upstream = startTestUpstream(async (request) => {
    const form = await request.formData();
    const file = form.get("file") as File; // the test below sends one
    return Response.json([[...form.keys()], form.get("field"), file.name, file.type, await file.text()]);
  });
  await using proxy = await startTestProxy({ ...ALLOW, proxyToken: "right" });
  for (const [path, key] of [["/proxy/request", "proxyRequestData"], ["/proxy/form", "proxyRequestData-1700"]]) {
    const form = new FormData();
    const describing = { method: "POST", url: upstream.url, headers: {}, wantsBinary: false, accessToken: "right" };
    form.set(key, JSON.stringify(describing));
    form.set("field", "wert ü");
    form.set("file", new File(["content"], "näme.txt", { type: "text/x-own" }));
    const response = await fetch(proxy.url + path, {
      method: "POST",
      headers: { "multipart-part-key": key },
      body: form,
    });
    const answer = await response.json();
    equal(answer.success, true, JSON.stringify(answer));
    deepEqual(JSON.parse(answer.data), [["field", "file"], "wert ü", "näme.txt", "text/x-own", "content"]);
  }
});

/** A form as Hoppscotch sends it: the part that describes the request is the last one. */
async function sendAsHoppscotch(url: string, describing: string, more: [string, string | Blob][]) {
  const form = new FormData();
  for (const [name, value] of more) form.append(name, value);
  form.append("proxyRequestData-1700", describing);
  const headers = { "multipart-part-key": "proxyRequestData-1700" };
  const response = await fetch(`${url}/proxy/request`, { method: "POST", headers, body: form });
  equal(response.status, 200);
  return await response.json();
}

for (const proxyFiles of ["", "docs"]) {
  const kind = proxyFiles === "" ? "without" : "with";
  Deno.test(`a client of proxyscotch may describe a form in its last part, ${kind} a folder for files`, async () => {
    await using upstream = startTestUpstream(async (request) => {
      const form = await request.formData();
      const file = form.get("file") as File; // the test below sends one
      return Response.json([[...form.keys()], form.get("request"), file.name, await file.text()]);
    });
    await using proxy = await startTestProxy({ ...ALLOW, proxyFiles });
    const describing = { method: "POST", url: upstream.url, wantsBinary: false, accessToken: "", data: "" };
    const answer = await sendAsHoppscotch(proxy.url, JSON.stringify(describing), [
      ["request", "a field"],
      ["file", new File(["x".repeat(200_000)], "f.bin")],
    ]);
    equal(answer.success, true, JSON.stringify(answer));
    deepEqual(JSON.parse(answer.data), [["request", "file"], "a field", "f.bin", "x".repeat(200_000)]);
  });
}

Deno.test("a client of proxyscotch is told in its format whatever is wrong with its form", async () => {
  await using proxy = await startTestProxy({ ...ALLOW, proxyMaxBytes: "10000" });
  const tell = async (describing: string, more: [string, string | Blob][]) => {
    const { success, data } = await sendAsHoppscotch(proxy.url, describing, more);
    equal(success, false);
    return data.message;
  };
  equal(await tell("{", []), "(Proxy Error) The description is not valid JSON.");
  match(await tell('{"url": 1}', []), /^\(Proxy Error\) Field "/);
  equal(
    await tell("{}", [["file", new Blob(["x".repeat(10_000)])]]),
    "(Proxy Error) Up to the end of its description the form is larger than 10000 bytes.",
  );
  const missing = await fetch(`${proxy.url}/proxy/request`, {
    method: "POST",
    headers: { "multipart-part-key": "other", "content-type": "multipart/form-data; boundary=b" },
    body: '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n',
  });
  deepEqual([missing.status, (await missing.json()).success], [200, false]);
});

Deno.test("a page that looks for a proxyscotch is told that one is here", async () => {
  await using proxy = await startTestProxy({ proxyToken: "x" });
  const answer = await (await fetch(`${proxy.url}/proxy/request`)).json();
  deepEqual([answer.success, answer.data.isProtected], [true, true]);
});
