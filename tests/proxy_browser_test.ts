import { deepEqual, equal, match } from "node:assert/strict";
import { chromium, type Page } from "playwright-core";
import { startTestProxy, startTestUpstream } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1" };
const CHROMIUM = {
  executablePath: "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

/** Opens a page of an origin that is neither the proxy's nor the upstream's. */
async function withPage(test: (page: Page) => Promise<void>): Promise<void> {
  await using site = startTestUpstream(() =>
    new Response("<!doctype html><title>app</title>", { headers: { "content-type": "text/html" } })
  );
  const browser = await chromium.launch(CHROMIUM);
  try {
    const page = await browser.newPage();
    await page.goto(site.url);
    await test(page);
  } finally {
    await browser.close();
  }
}

Deno.test("a page in a browser reads through the proxy what fetch alone may not read", async () => {
  await using upstream = startTestUpstream((request) => {
    const headers = { "content-type": "application/json", "set-cookie": "session=1" };
    return new Response(JSON.stringify({ secret: 42, method: request.method }), { headers });
  });
  await using proxy = await startTestProxy(ALLOW);
  await withPage(async (page) => {
    const direct = await page.evaluate(async (url) => {
      try {
        return await (await fetch(url)).text();
      } catch (error) {
        return String(error);
      }
    }, upstream.url);
    match(direct, /TypeError: Failed to fetch/);
    const read = await page.evaluate(async ([proxyUrl, url]) => {
      const response = await fetch(`${proxyUrl}/proxy/request`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ url, method: "PUT", headers: { "X-Own": "1" } }),
      });
      return await response.json();
    }, [proxy.url, upstream.url]);
    deepEqual(JSON.parse(read.body), { secret: 42, method: "PUT" });
    equal(read.headers.some(([name]: [string]) => name === "set-cookie"), true);
    deepEqual(await page.context().cookies(proxy.url), []);
  });
});

Deno.test("a page in a browser reads a stream and its headers as they come, and sends a form with a file", async () => {
  const gate = Promise.withResolvers<void>();
  await using upstream = startTestUpstream(async (request) => {
    if (request.method === "POST") {
      const file = (await request.formData()).get("file") as File; // the page below sends one
      return new Response(`${file.name} ${file.type} ${(await file.text()).length}`);
    }
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("data: first\n\n"));
        await gate.promise;
        controller.close();
      },
    });
    return new Response(body, { status: 203, headers: { "content-type": "text/event-stream" } });
  });
  await using proxy = await startTestProxy(ALLOW);
  await withPage(async (page) => {
    const streamed = await page.evaluate(async ([proxyUrl, url]) => {
      const body = JSON.stringify({ url, stream: true });
      const response = await fetch(`${proxyUrl}/proxy/request`, { method: "POST", body });
      const { value } = await response.body!.getReader().read();
      return [response.headers.get("portway-status"), new TextDecoder().decode(value)];
    }, [proxy.url, upstream.url]);
    deepEqual(streamed, ["203", "data: first\n\n"]);
    gate.resolve();
    const sent = await page.evaluate(async ([proxyUrl, url]) => {
      const form = new FormData();
      form.append("request", JSON.stringify({ url }));
      form.append("file", new File(["x".repeat(100_000)], "ü.txt", { type: "text/plain" }));
      return await (await fetch(`${proxyUrl}/proxy/form`, { method: "POST", body: form })).json();
    }, [proxy.url, upstream.url]);
    equal(sent.body, "ü.txt text/plain 100000");
  });
});

Deno.test("a page in a browser is told the code of an error, and what a stranger wrote runs no script on our origin", async () => {
  await using upstream = startTestUpstream(() =>
    new Response("<script>document.title = 'owned'</script><h1>hi</h1>", { headers: { "content-type": "text/html" } })
  );
  await using proxy = await startTestProxy(ALLOW);
  await withPage(async (page) => {
    const refused = await page.evaluate(async (proxyUrl) => {
      const body = JSON.stringify({ url: "http://10.0.0.1/" });
      const response = await fetch(`${proxyUrl}/proxy/request`, { method: "POST", body });
      return [response.status, response.headers.get("portway-error")];
    }, proxy.url);
    deepEqual(refused, [403, "address_forbidden"]);
    // A form of another site that posts to the proxy and shows what comes back.
    await page.setContent(
      `<form method="post" action="${proxy.url}/proxy/form" enctype="multipart/form-data">` +
        `<input name="request" value='${JSON.stringify({ url: upstream.url, stream: true })}'></form>`,
    );
    const shown = page.waitForURL(`${proxy.url}/**`);
    await page.evaluate(() => document.querySelector("form")!.submit());
    await shown;
    equal(await page.locator("h1").textContent(), "hi");
    equal(await page.title(), "");
    equal(await page.evaluate(() => globalThis.origin), "null");
  });
});

Deno.test("a page in a browser fetches another site with the proxy's address in front, in credentials mode where it is listed", async () => {
  await using upstream = startTestUpstream(async (request) =>
    new Response(`${request.method} ${request.headers.get("x-own")} ${await request.text()}`, {
      status: 418,
      headers: { "x-secret": "42", "set-cookie": "session=1" },
    })
  );
  await withPage(async (page) => {
    const ask = (proxyUrl: string, credentials: RequestCredentials) =>
      page.evaluate(async ([proxyUrl, url, credentials]) => {
        try {
          const response = await fetch(`${proxyUrl}/proxy/fetch/${url}/path`, {
            method: "PUT",
            headers: { "x-own": "1" },
            body: "text",
            credentials: credentials as RequestCredentials,
          });
          return `${response.status} ${response.headers.get("x-secret")} ${await response.text()}`;
        } catch (error) {
          return String(error);
        }
      }, [proxyUrl, upstream.url, credentials]);
    const { origin } = new URL(page.url());
    await using open = await startTestProxy(ALLOW);
    equal(await ask(open.url, "omit"), "418 42 PUT 1 text");
    match(await ask(open.url, "include"), /Failed to fetch/);
    await using listed = await startTestProxy({ ...ALLOW, proxyOrigins: origin });
    equal(await ask(listed.url, "include"), "418 42 PUT 1 text");
    await using other = await startTestProxy({ ...ALLOW, proxyOrigins: "https://app.example" });
    match(await ask(other.url, "include"), /Failed to fetch/);
    deepEqual(await page.context().cookies(listed.url), []);
  });
});
