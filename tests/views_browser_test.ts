import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import fs from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openBrowser } from "./kit/mod.ts";
import { findFaults, rows, send, withPage } from "./views_browser_kit.ts";
import { startViewsServer } from "./views_kit.ts";

Deno.test("a call that is sent while the page is open appears within a second, and all of it can be seen", async () => {
  await using views = await startViewsServer();
  await withPage(views, {}, async (page) => {
    await page.goto("/views");
    await page.getByLabel("Name").fill("Orders");
    await page.getByRole("button", { name: "Create view" }).click();
    await page.getByText("No calls yet.").waitFor();
    const captureUrl = await page.locator(".copy code").first().innerText();
    match(captureUrl, /\/req\/[0-9a-f-]{36}$/);
    const sentAt = performance.now();
    const sent = send(`${captureUrl}/new?x=1&y=2`, {
      method: "POST",
      body: '{"total":12345678901234567890}',
      headers: { "content-type": "application/json", "x-note": "<b>bold</b>" },
    });
    await rows(page).first().waitFor({ timeout: 1000 });
    ok(performance.now() - sentAt < 1000, "within a second");
    await sent;
    await rows(page).first().click();
    const detail = page.locator("#capture-detail");
    await detail.getByText('"total": 12345678901234567890').waitFor();
    await detail.getByText("<b>bold</b>").waitFor();
    deepEqual(await detail.locator("table").first().locator("td").allInnerTexts(), ["1", "2"]);
    // As the other pages tell a moment, to the second.
    match(await detail.locator("dd").first().innerText(), /^[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d:\d\d\s[AP]M$/);
    await detail.getByRole("button", { name: "Hex" }).click();
    await detail.getByText("00000000  7b 22 74 6f").waitFor();
    await detail.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No calls yet.").waitFor();
  });
});

Deno.test("calls are searched, exported and sent again with what the page copies", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  await send(`${captureUrl}/users`, { method: "PUT", body: "needle in a haystack" });
  await send(`${captureUrl}/binary`, { method: "POST", body: Uint8Array.of(0, 255, 10) });
  for (let count = 0; count < 20; count++) await send(`${captureUrl}/other`);
  await withPage(views, { permissions: ["clipboard-read", "clipboard-write"], acceptDownloads: true }, async (page) => {
    const download = async (name: string) => {
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
      return [file.suggestedFilename(), fs.readFileSync(await file.path())] as const;
    };
    await page.goto(`/views/${id}/capture`);
    await page.getByText("22 calls").waitFor();
    const [lines, text] = await download("Export JSON Lines");
    equal(lines, "captures.jsonl");
    const exported = text.toString().trim().split("\n").map((line) => JSON.parse(line));
    equal(exported.length, 22);
    equal(Buffer.from(exported[1].body, "base64").toString("hex"), "00ff0a");
    await page.getByLabel("Search", { exact: true }).fill("NEEDLE");
    await page.getByText("1 call", { exact: true }).waitFor();
    const [har, entries] = await download("Export HAR");
    equal(har, "captures.har");
    equal(JSON.parse(entries.toString()).log.entries[0].request.postData.text, "needle in a haystack");
    await rows(page).first().click();
    await page.getByRole("button", { name: "Copy as cURL" }).click();
    await page.getByText("Copied", { exact: true }).waitFor();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const { success } = await new Deno.Command("bash", { args: ["-c", command], stdout: "null", stderr: "null" })
      .output();
    equal(success, true);
    await page.getByText("2 calls", { exact: true }).waitFor();
    const again = await (await views.ask(`/api/v1/views/${id}/captures/23`)).json();
    deepEqual([again.method, atob(again.body)], ["PUT", "needle in a haystack"]);
    await page.getByLabel("Search", { exact: true }).fill("nothing that ever came");
    await page.getByText("No call matches your search.").waitFor();
    await page.getByRole("button", { name: "Show all calls" }).click();
    await page.getByText("23 calls", { exact: true }).waitFor();
    await page.getByText("Filters", { exact: true }).click();
    await page.locator("#capture-filter").getByLabel("Method").fill("POST");
    await page.getByText("1 call", { exact: true }).waitFor();
    await rows(page).first().click();
    await page.getByText("00000000  00 ff 0a").waitFor();
    const [name, body] = await download("Download body");
    deepEqual([name, body.toString("hex")], ["capture-2", "00ff0a"]);
  });
});

Deno.test("the newest call is open at first, each call has an address, and Back returns to the one before", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  for (let count = 1; count <= 501; count++) await send(`${captureUrl}/call-${count}`);
  await withPage(views, {}, async (page) => {
    const title = page.locator(".capture-title .target"), list = `/views/${id}/capture`;
    const isAt = (path: string) => page.waitForURL((url) => url.pathname === path);
    await page.goto(`/views/${id}`);
    await isAt(list);
    await page.getByText("501 calls", { exact: true }).waitFor();
    await title.getByText("/call-501").waitFor();
    await rows(page).nth(2).click();
    await title.getByText("/call-499").waitFor();
    await isAt(`${list}/499`);
    await rows(page).nth(1).click();
    await isAt(`${list}/500`);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await isAt(`${list}/498`);
    await page.goBack();
    await isAt(`${list}/499`);
    await title.getByText("/call-499").waitFor();
    await page.goBack();
    await isAt(list);
    await title.getByText("/call-501").waitFor();
    await page.goForward();
    await title.getByText("/call-499").waitFor();
    await page.goto(`${list}/3`);
    await title.getByText("/call-3").waitFor();
  });
});

Deno.test("on a phone the list comes first, and Back leads from a call to it", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  await send(`${captureUrl}/only`);
  await withPage(views, { viewport: { width: 390, height: 844 } }, async (page) => {
    await page.goto(`/views/${id}/capture`);
    await rows(page).first().click();
    await page.locator(".capture-title .target").getByText("/only").waitFor();
    await page.getByRole("button", { name: "Back to the list" }).click();
    await rows(page).first().waitFor();
    equal(new URL(page.url()).pathname, `/views/${id}/capture`);
    await rows(page).first().click();
    await page.goBack();
    await rows(page).first().waitFor();
  });
});

Deno.test("the deletion of a call can be undone", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  for (const name of ["a", "b"]) await send(`${captureUrl}/${name}`);
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture`);
    await page.getByText("2 calls", { exact: true }).waitFor();
    await rows(page).last().click();
    const detail = page.locator("#capture-detail");
    await detail.getByText("/a", { exact: true }).waitFor();
    await detail.getByRole("button", { name: "Delete" }).click();
    await page.getByText("1 call", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("2 calls", { exact: true }).waitFor();
    await detail.getByText("/a", { exact: true }).waitFor();
    const count = async () => (await (await views.ask(`/api/v1/views/${id}/captures`)).json()).captures.length;
    equal(await count(), 2);
    await detail.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Call deleted.").waitFor();
    equal(await count(), 1);
  });
});

Deno.test("a call is read in its charset, with JSON in form fields indented", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const sent: [type: string, body: BodyInit, shown: string][] = [
    ["text/plain; charset=Shift_JIS", Uint8Array.of(0x83, 0x65, 0x83, 0x58, 0x83, 0x67), "テスト"],
    ["application/x-www-form-urlencoded; charset=GBK", "name=%C4%E3%BA%C3", "你好"],
    ["application/json", '{"name":"Zo\\u00eb"}', '"name": "Zoë"'],
    ["application/x-www-form-urlencoded", "payload=%7B%22a%22%3A1%7D", '"a": 1'],
    ["application/x-www-form-urlencoded", "hello+big%20world", "hello+big%20world"],
  ];
  for (const [type, body] of sent) await send(captureUrl, { method: "POST", body, headers: { "content-type": type } });
  await withPage(views, {}, async (page) => {
    for (const [at, [type, , shown]] of sent.entries()) {
      await page.goto(`/views/${id}/capture/${at + 1}`);
      await page.locator(".body-view").getByText(shown).waitFor();
      if (shown === '"a": 1') match(await page.locator(".body-view td").first().innerText(), /^\{\n {2}"a": 1\n\}$/);
      if (!type.includes("charset=S")) continue;
      await page.getByRole("button", { name: "Raw" }).click();
      await page.locator(".body-view").getByText(shown).waitFor();
    }
  });
});

Deno.test("a signature of any sender is verified in the page, with a pasted secret", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const sign = (encoding: "hex" | "base64") => createHmac("sha512", "s3cret").update("hello").digest(encoding);
  await send(captureUrl, { method: "POST", body: "hello", headers: { "x-own": sign("base64") } });
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture/1`);
    await page.getByText("Verify a signature").click();
    await page.getByLabel("Sender").selectOption({ label: "Other (HMAC of the body)" });
    await page.getByLabel("Secret, which stays in this page").fill(" s3cret ");
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("Enter the header that contains the signature.").waitFor();
    await page.getByLabel("Header with the signature").fill("X-Own");
    await page.getByLabel("Hash").selectOption("SHA-512");
    await page.getByLabel("Encoding").selectOption("base64");
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("The signature is valid.").waitFor();
  });
});

Deno.test("a paused list stands still, and shows what it missed when it goes on", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture`);
    await page.getByText("0 calls").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("0 calls, paused").waitFor();
    for (let count = 0; count < 3; count++) await send(captureUrl);
    equal(await rows(page).count(), 0);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("3 calls").waitFor();
  });
});

Deno.test("the answer is edited, and what cannot be used is said at its field", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/settings`);
    await page.getByLabel("Status").fill("999");
    await page.getByRole("button", { name: "Save" }).click().catch(() => {});
    await page.locator("#status-problem").waitFor();
    equal(await page.getByLabel("Status").inputValue(), "999");
    await page.getByLabel("Status").fill("200");
    await page.getByLabel("Headers").fill("X-Own: yes\nno colon here");
    await page.getByRole("button", { name: "Save" }).click().catch(() => {});
    await page.locator("#headers-problem").getByText('line without a colon: "no colon here"').waitFor();
  }).catch((error) => {
    // The browser itself tells of a page with status 400.
    if (!/400 \(Bad Request\)/.test(String(error.message))) throw error;
  });
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/settings`);
    await page.getByLabel("Status").fill("202");
    await page.getByLabel("Headers").fill("X-Own: yes\nContent-Type: text/csv");
    await page.getByLabel("Body").fill("a,b");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The settings are saved").waitFor();
    const answer = await fetch(captureUrl);
    deepEqual([answer.status, answer.headers.get("x-own"), await answer.text()], [202, "yes", "a,b"]);
    await page.goto(`/views/${id}/settings`);
    await page.getByRole("button", { name: "Delete view" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete view" }).click();
    await page.getByText("No views yet").waitFor();
    equal(await fetch(captureUrl).then(async (gone) => [gone.status, await gone.text()][0]), 404);
  });
});

Deno.test("what strangers send is never run: HTML, SVG, headers and paths, in the page and behind its links", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const evil = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>";
  for (
    const type of ["text/html", "image/svg+xml", "application/xhtml+xml", "application/xml", "application/json", evil]
  ) {
    await send(`${captureUrl}/${encodeURIComponent(evil)}?q=${encodeURIComponent(evil)}`, {
      method: "POST",
      body: `<svg xmlns="http://www.w3.org/2000/svg" onload="document.title='run'">${evil}</svg>`,
      headers: { "content-type": type, "x-evil": evil },
    });
  }
  await views.ask(`/api/v1/views/${id}`, {
    method: "PATCH",
    body: JSON.stringify({
      name: evil.slice(0, 90),
      answer: { headers: [["content-type", "text/html"]], body: `<title>answer</title>${evil}` },
    }),
  }).then((response) => response.text());
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture`);
    const title = await page.title();
    for (let at = 0; at < 6; at++) {
      await rows(page).nth(at).click();
      for (const tab of ["Raw", "Hex", "Pretty"]) await page.getByRole("button", { name: tab }).click();
    }
    equal(await page.title(), title);
    equal(await page.locator("#capture-detail img, #capture-detail script, #capture-detail svg").count(), 0);
  });
  // The answer, opened as a page: its scripts do not run, and it has no origin.
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(captureUrl);
  equal(await page.title(), "answer");
  equal(await page.evaluate("self.origin"), "null");
  const file = await views.ask(`/api/v1/views/${id}/captures/1/body`);
  match(file.headers.get("content-disposition") ?? "", /^attachment/);
  await file.body?.cancel();
});

Deno.test("a form of a page elsewhere is captured as the browser sent it", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const elsewhere = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(
      `<form method="post" action="${captureUrl}" enctype="multipart/form-data">
        <input name="text" value="é &amp; ü"><input type="file" name="file"><button>Send</button></form>`,
    );
  }).listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => elsewhere.on("listening", resolve));
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
  const bytes = Buffer.from([0, 255, 13, 10, 45, 45]);
  await page.locator("input[type=file]").setInputFiles({ name: "x.bin", mimeType: "a/b", buffer: bytes });
  await Promise.all([page.waitForURL(captureUrl), page.getByRole("button", { name: "Send" }).click()]);
  const capture = await (await views.ask(`/api/v1/views/${id}/captures/1`)).json();
  const text = atob(capture.body), boundary = /boundary=(\S+)/.exec(capture.contentType)?.[1] ?? "";
  const part = (head: string, body: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
  equal(
    text,
    part('name="text"', Buffer.from("é & ü").toString("latin1")) +
      part('name="file"; filename="x.bin"\r\nContent-Type: a/b', bytes.toString("latin1")) + `--${boundary}--\r\n`,
  );
  elsewhere.closeAllConnections();
  await new Promise((resolve) => elsewhere.close(resolve));
});

/** Where pictures of the pages are put, to be looked at. */
const PICTURES = Deno.env.get("PORTWAY_TEST_PICTURES");

for (const colorScheme of ["light", "dark"] as const) {
  for (
    const [shape, viewport] of Object.entries({
      wide: { width: 1360, height: 900 },
      phone: { width: 390, height: 844 },
    })
  ) {
    Deno.test(`the pages of views have no fault that axe finds, ${shape} and ${colorScheme}`, async () => {
      await using views = await startViewsServer();
      const { id, captureUrl } = await views.addView("Orders of the shop");
      await send(`${captureUrl}/orders?shop=7`, {
        method: "POST",
        body: JSON.stringify({ order: 17, lines: [{ name: "Tea", price: 4.5 }] }),
        headers: { "content-type": "application/json", "x-hub-signature-256": `sha256=${"0".repeat(64)}` },
      });
      for (const method of ["GET", "PUT", "DELETE", "PATCH"]) await send(`${captureUrl}/items/${method}`, { method });
      await withPage(views, { viewport, colorScheme }, async (page) => {
        const look = async (name: string) => {
          deepEqual((await findFaults(page)).map((problem) => `${name}: ${problem}`), []);
          const width = await page.evaluate(() => document.documentElement.scrollWidth);
          ok(width <= viewport.width, `${name}: ${width} px wide`);
          if (PICTURES) await page.screenshot({ path: `${PICTURES}/views-${name}-${shape}-${colorScheme}.png` });
        };
        await page.goto("/views");
        await look("list");
        await page.goto(`/views/${id}/capture`);
        await rows(page).nth(4).waitFor();
        await page.getByText("Filters", { exact: true }).click();
        await look("captures");
        await rows(page).nth(4).click();
        await page.getByText('"order": 17').waitFor();
        await page.getByText("Verify the signature of GitHub").click();
        await page.getByLabel("Secret, which stays in this page").fill("wrong");
        await page.getByRole("button", { name: "Verify" }).click();
        await page.getByText("The signature is not valid").waitFor();
        await look("capture");
        await page.goto(`/views/${id}/settings`);
        await look("settings");
      });
    });
  }
}

Deno.test("10,000 calls scroll without a wait, and only what is visible is there", async () => {
  await using views = await startViewsServer({
    args: ["--view-calls-per-minute", "100000"],
  });
  const { id, captureUrl } = await views.addView();
  for (let sent = 0; sent < 10_000; sent += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, at) => send(`${captureUrl}/${sent + at}`)));
  }
  await withPage(views, {}, async (page) => {
    await page.goto(`/views/${id}/capture`);
    await rows(page).first().waitFor();
    const list = page.locator("#capture-list");
    // The list grows while its end is in sight.
    while (await rows(page).first().getAttribute("aria-setsize") !== "10000") {
      await list.evaluate((box) => box.scrollTop = box.scrollHeight);
      await page.waitForTimeout(20);
    }
    ok(await rows(page).count() < 60);
    // Frames of one sweep through the whole list: the longest of them, in milliseconds.
    const longest = await list.evaluate(async (box) => {
      let last = performance.now(), longest = 0;
      for (let top = 0; top < box.scrollHeight; top += box.scrollHeight / 120) {
        box.scrollTop = top;
        await new Promise(requestAnimationFrame);
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      }
      return longest;
    });
    ok(longest < 1000, `the longest frame took ${longest} ms`);
  });
});
