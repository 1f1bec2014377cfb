/** What a call's page shows of each kind of body, where there is little room, and where colours are forced. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { Page } from "playwright-core";
import { findFaults, rows, send, withPage } from "./views_browser_kit.ts";
import { startViewsServer } from "./views_kit.ts";

/** A picture of one blue point. */
function makePng(): Buffer<ArrayBuffer> {
  const chunk = (type: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(type), data]), head = Buffer.alloc(4), tail = Buffer.alloc(4);
    head.writeUInt32BE(data.length);
    tail.writeUInt32BE(crc(body));
    return Buffer.concat([head, body, tail]);
  };
  const about = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
  const parts = [
    chunk("IHDR", about),
    chunk("IDAT", deflateSync(Buffer.from([0, 0, 0, 255]))),
    chunk("IEND", Buffer.of()),
  ];
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), ...parts]);
}

function crc(bytes: Uint8Array): number {
  let value = ~0;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = value >>> 1 ^ (value & 1 ? 0xedb88320 : 0);
  }
  return ~value >>> 0;
}

const LONG = "x".repeat(300);

/** Sends one call of each kind, and gives for each what is to be seen of it, the newest first. */
async function sendKinds(captureUrl: string): Promise<string[]> {
  const post = (name: string, type: string, body: BodyInit, more: Record<string, string> = {}) =>
    send(`${captureUrl}/${name}`, { method: "POST", body, headers: { "content-type": type, ...more } });
  await post(`json/${LONG}`, "application/json", `{"deep":{"text":"${LONG}"}}`, { "x-long-name-of-a-field": LONG });
  await post("form", "application/x-www-form-urlencoded", `name=Zo%C3%AB&long=${LONG}`);
  await post("xml", "text/xml", `<a><b c="${LONG}">Tea</b></a>`);
  await post("text", "text/plain", `one line\n${LONG}`);
  await post("binary", "application/octet-stream", Uint8Array.from({ length: 100 }, (_, at) => at * 7));
  await post("picture", "image/png", makePng());
  const form = new FormData();
  form.append("title", LONG);
  form.append("file", new Blob([makePng()], { type: "image/png" }), `${LONG}.png`);
  await send(`${captureUrl}/multipart`, { method: "POST", body: form });
  return ["multipart", "picture", "00000000  00 07 0e", "one line", "Tea", "Zoë", '"deep": {'];
}

async function showAll(page: Page, seen: readonly string[], look: (what: string) => Promise<void>): Promise<void> {
  const detail = page.locator("#capture-detail"), back = page.getByRole("button", { name: "Back to the list" });
  for (const [at, what] of seen.entries()) {
    await rows(page).nth(at).click();
    if (what === "picture") await detail.locator("img.picture").waitFor();
    else if (what === "multipart") await detail.locator("h4").nth(1).waitFor();
    else await detail.locator(".body-view").getByText(what).first().waitFor();
    await look(what);
    if (await back.isVisible()) await back.click();
  }
}

Deno.test("what a body is under its coding is read, and as it came where that cannot be undone", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const post = (coding: string, body: Uint8Array) =>
    send(captureUrl, {
      method: "POST",
      body: Uint8Array.from(body),
      headers: { "content-encoding": coding, "content-type": "application/json" },
    });
  const long = JSON.stringify({ long: Array.from({ length: 200_000 }, (_, at) => at) });
  await post("br", brotliCompressSync('{"coded":"by br"}'));
  await post("zstd", zstdCompressSync('{"coded":"by zstd"}'));
  await post("gzip, br", brotliCompressSync(gzipSync('{"coded":"twice"}')));
  await post("gzip", gzipSync(long));
  await post("compress", Uint8Array.of(0x1f, 0x9d, 0));
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture`);
    const detail = page.locator("#capture-detail");
    const choose = (name: string) => detail.getByRole("button", { name, exact: true }).click();
    for (const [row, text, about] of [[4, "by br", "br"], [3, "by zstd", "zstd"], [2, "twice", "gzip, br"]] as const) {
      await rows(page).nth(row).click();
      await detail.getByText(`"coded": "${text}"`).waitFor();
      await detail.getByText(new RegExp(`^\\d+ B of application/json, coded as ${about}$`)).waitFor();
      await choose("Raw");
      await detail.getByText(`{"coded":"${text}"}`).waitFor();
    }
    await choose("Hex");
    await detail.locator("pre.hex").waitFor();
    equal((await detail.locator("pre.hex").textContent())?.includes("coded"), false);
    await rows(page).nth(1).click();
    await detail.getByText("There is more, or it broke off here.").waitFor();
    await detail.getByText('{"long":[0,1,2').waitFor();
    await rows(page).nth(0).click();
    await detail.getByText("00000000  1f 9d 00").waitFor();
  });
});

for (const width of [390, 320]) {
  Deno.test(`each kind of body can be read on a screen of ${width} px`, async () => {
    await using views = await startViewsServer();
    const { id, captureUrl } = await views.addView();
    const seen = await sendKinds(captureUrl);
    await withPage(views, { viewport: { width, height: 700 }, colorScheme: "dark" }, async (page) => {
      await page.goto(`/views/${id}/capture`);
      await rows(page).nth(seen.length - 1).waitFor();
      await showAll(page, seen, async (what) => {
        const wide = await page.evaluate(() => {
          const box = document.querySelector("#capture-detail");
          return Math.max(
            document.documentElement.scrollWidth - innerWidth,
            (box?.scrollWidth ?? 0) - (box?.clientWidth ?? 0),
          );
        });
        equal(wide <= 0, true, `${what}: ${wide} px too wide`);
        await page.locator(".capture-title").waitFor({ state: "visible" });
        const top = await page.locator("#captures").evaluate((box) => box.getBoundingClientRect().top);
        ok(top < 350, `${what}: the call begins at ${top} px`);
      });
      deepEqual(await findFaults(page), []);
    });
  });
}

Deno.test("a chosen row and a pressed tab are told from others where colours are forced", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const seen = await sendKinds(captureUrl);
  await withPage(views, { forcedColors: "active" }, async (page) => {
    await page.goto(`/views/${id}/capture`);
    await rows(page).nth(seen.length - 1).waitFor();
    await rows(page).nth(3).click();
    await page.getByText("one line").waitFor();
    const grounds = (selector: string) =>
      page.locator(selector).evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
    for (const selector of [".capture-row", ".body-tabs button"]) {
      const [odd, ...rest] = [...new Set(await grounds(selector))];
      ok(odd !== undefined && rest.length === 1, `${selector}: ${await grounds(selector)}`);
    }
    deepEqual(await findFaults(page), []);
  });
});

Deno.test("a call that is slow to load does not take the place of one that was chosen after it", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  for (const name of ["slow", "quick"]) {
    await send(`${captureUrl}/${name}`, { method: "POST", body: `the ${name} one` });
  }
  await withPage(views, {}, async (page) => {
    const asked = Promise.withResolvers<void>(), release = Promise.withResolvers<void>();
    await page.route("**/captures/1", async (route) => {
      asked.resolve();
      await release.promise;
      await route.continue();
    });
    await page.goto(`/views/${id}/capture`);
    await rows(page).nth(1).click();
    await asked.promise;
    await rows(page).nth(0).click();
    await page.getByText("the quick one").waitFor();
    const late = page.waitForResponse("**/captures/1");
    release.resolve();
    await (await late).finished();
    await page.evaluate(() => new Promise(requestAnimationFrame));
    equal(await page.getByText("the slow one").count(), 0);
    await page.getByText("the quick one").waitFor();
  });
});
