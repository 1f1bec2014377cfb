/** Sending a call again from its page. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync } from "node:zlib";
import type { Page } from "playwright-core";
import { findFaults, rows, send, withPage } from "./views_browser_kit.ts";
import { startViewsServer } from "./views_kit.ts";

interface Came {
  line: string;
  headers: string[];
  body: string;
}

/** A service that tells what came, and answers with JSON that is compressed. */
async function startService(): Promise<{ url: string; came: Came[] } & AsyncDisposable> {
  const came: Came[] = [];
  const service = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const { method, url, rawHeaders } = request;
    came.push({ line: `${method} ${url}`, headers: rawHeaders, body: Buffer.concat(pieces).toString("latin1") });
    const headers = { "content-type": "application/json", "content-encoding": "br", "x-evil": "<b>bold</b>" };
    response.writeHead(201, headers).end(brotliCompressSync('{"thanks":{"a":1}}'));
  }).listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => service.on("listening", resolve));
  return {
    url: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
    came,
    [Symbol.asyncDispose]: () => new Promise((resolve) => service.close(() => resolve())),
  };
}

const openDialog = async (page: Page, at = 0) => {
  await rows(page).nth(at).click();
  await page.getByRole("button", { name: "Send again…" }).click();
  return page.getByRole("dialog", { name: "Send again" });
};

Deno.test("a call is sent again to a URL, its answer is shown, and the URL is there the next time", async () => {
  await using views = await startViewsServer({ args: ["--view-replay-allow", "127.0.0.1"] });
  await using service = await startService();
  const { id, captureUrl } = await views.addView();
  await send(`${captureUrl}/orders?n=1`, { method: "PUT", body: "é\x00", headers: { "x-own": "yes" } });
  await withPage(views, { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    await page.goto(`/views/${id}/capture`);
    const dialog = await openDialog(page);
    equal(await dialog.getByLabel("To this URL").inputValue(), "");
    await dialog.getByRole("button", { name: "Send to URL" }).click();
    await dialog.getByText("Enter the URL to send it to.").waitFor();
    await dialog.getByLabel("To this URL").fill(`${service.url}/hooks`);
    await page.keyboard.press("Enter");
    await dialog.getByText(/^201 Created, \d+ ms, \d+ B$/).waitFor();
    await dialog.getByText('"thanks": {').waitFor();
    await dialog.getByText("<b>bold</b>").waitFor();
    const [{ line, body, headers }] = service.came;
    deepEqual([line, body], ["PUT /hooks/orders?n=1", "\xc3\xa9\x00"]);
    ok(headers.includes("x-own") || headers.includes("X-Own"));
    await dialog.getByRole("button", { name: "Copy the command" }).click();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    equal(command, `portway --views-replay ${id} 1 --forward 3000`);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await page.reload();
    equal(await (await openDialog(page)).getByLabel("To this URL").inputValue(), `${service.url}/hooks`);
  });
});

Deno.test("a call is edited before it is sent again, and a header line without a colon is refused", async () => {
  await using views = await startViewsServer({ args: ["--view-replay-allow", "127.0.0.1"] });
  await using service = await startService();
  const { id, captureUrl } = await views.addView();
  await send(`${captureUrl}/orders?n=1`, { method: "POST", body: "old", headers: { "x-own": "yes" } });
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture/1`);
    await page.getByRole("button", { name: "Send again…" }).click();
    const dialog = page.getByRole("dialog", { name: "Send again" });
    await dialog.getByLabel("To this URL").fill(service.url);
    await dialog.getByText("Edit before sending").click();
    await dialog.getByLabel("Method").fill("PATCH");
    await dialog.getByLabel("Path and query").fill("/é?n=2");
    await dialog.getByLabel("Headers, one on each line").fill("X-New: ü\nno colon");
    await dialog.getByLabel("Body", { exact: true }).fill("neu: é");
    await dialog.getByRole("button", { name: "Send to URL" }).click();
    await dialog.getByText('The header line "no colon" has no colon.').waitFor();
    await dialog.getByLabel("Headers, one on each line").fill("X-New: ü\n");
    await dialog.getByRole("button", { name: "Send to URL" }).click();
    await dialog.getByText(/^201 Created/).waitFor();
    const [{ line, body, headers }] = service.came;
    deepEqual([line, body], ["PATCH /%C3%A9?n=2", "neu: \xc3\xa9"]);
    equal(headers[headers.indexOf("X-New") + 1], "\xc3\xbc");
    equal(headers.includes("x-own"), false);
  });
});

Deno.test("a call is captured again by its view, and what the server does not send to is said", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  await send(captureUrl, { method: "POST", body: "once" });
  const faults = withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture`);
    const dialog = await openDialog(page);
    await dialog.getByRole("button", { name: "Send to this view" }).click();
    await dialog.getByText("Captured again, as number 2.").waitFor();
    await dialog.getByLabel("To this URL").fill("http://10.0.0.1/inside");
    await dialog.getByRole("button", { name: "Send to URL" }).click();
    await dialog.getByText(/"10.0.0.1" is not a public address/).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("2 calls", { exact: true }).waitFor();
  });
  // The browser itself tells of the refusal.
  await faults.catch((error) => match(String(error.message), /403 \(Forbidden\)/));
  const again = await (await views.ask(`/api/v1/views/${id}/captures/2`)).json();
  equal(atob(again.body), "once");
});

Deno.test("with the keys alone a call is chosen, looked through and sent again", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  for (const name of ["first", "second", "third"]) await send(`${captureUrl}/${name}`, { method: "POST", body: name });
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture`);
    await rows(page).nth(2).waitFor();
    const tabUntil = async (name: RegExp) => {
      const text = () =>
        page.evaluate(() =>
          document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? ""
        );
      for (let count = 0; count < 60 && !name.test(await text()); count++) await page.keyboard.press("Tab");
      match(await text(), name);
    };
    await tabUntil(/^Captured calls$/);
    await page.keyboard.press("ArrowDown");
    const detail = page.locator("#capture-detail");
    await detail.getByText("/second").first().waitFor();
    await page.keyboard.press("End");
    await detail.getByText("/first").first().waitFor();
    await tabUntil(/^Hex$/);
    await page.keyboard.press("Enter");
    await detail.getByText("00000000  66 69 72 73 74").waitFor();
    await page.locator("#capture-list").focus();
    await tabUntil(/^Send again…$/);
    await page.keyboard.press("Space");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await tabUntil(/^Send to this view$/);
    await page.keyboard.press("Enter");
    await dialog.getByText("Captured again, as number 4.").waitFor();
    await page.keyboard.press("Escape");
    // Who leaves the dialog is where they were.
    match(await page.evaluate(() => document.activeElement?.textContent ?? ""), /^Send again…$/);
  });
});

for (const width of [1360, 390, 320]) {
  Deno.test(`what is sent again and its answer are readable and without faults, ${width} px wide`, async () => {
    await using views = await startViewsServer({ args: ["--view-replay-allow", "127.0.0.1"] });
    await using service = await startService();
    const { id, captureUrl } = await views.addView();
    await send(`${captureUrl}/${"long-".repeat(40)}`, { headers: { "x-long": "y".repeat(300) } });
    await withPage(views, { viewport: { width, height: 800 } }, async (page) => {
      await page.goto(`/views/${id}/capture`);
      const dialog = await openDialog(page);
      await dialog.getByLabel("To this URL").fill(service.url);
      await dialog.getByRole("button", { name: "Send to URL" }).click();
      await dialog.getByText('"thanks": {').waitFor();
      deepEqual(await findFaults(page), []);
      const sizes = await dialog.evaluate((
        box,
      ) => [box.scrollWidth - box.clientWidth, box.getBoundingClientRect().right]);
      deepEqual([sizes[0], sizes[1] <= width], [0, true]);
    });
  });
}
