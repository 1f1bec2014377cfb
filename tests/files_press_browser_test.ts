import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import fs from "node:fs";
import path from "node:path";
import type { Page, Route } from "playwright-core";
import { collectProblems, drop } from "./files_browser_kit.ts";
import { openFolder, openNetwork, type RunningClient, startClient, startLocal } from "./files_kit.ts";
import { openBrowser } from "./kit/mod.ts";

const MIB = 1024 * 1024;

function write(folder: { path: string }, name: string, content: string | Uint8Array): string {
  const file = path.join(folder.path, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
  return file;
}

/** Presses the mouse on a button as long as a slow hand does. */
async function press(page: Page, label: string, milliseconds: number): Promise<void> {
  const box = await page.getByLabel(label, { exact: true }).boundingBox();
  ok(box !== null, `${label} is not to be seen`);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.evaluate((delay) => new Promise((resolve) => setTimeout(resolve, delay)), milliseconds);
  await page.mouse.up();
}

Deno.test("a slow press on Pause and on Cancel works while uploads run, and the focus stays where it was", async () => {
  using folder = openFolder();
  using source = openFolder();
  const files = [1, 2, 3].map((number) => write(source, `${number}.bin`, Buffer.alloc(20 * MIB, String(number))));
  await using client = await startLocal("-fw", folder.path);
  await using network = await openNetwork(client.port);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  // Slow enough to be still under way, and always on the move.
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const slow = { offline: false, latency: 5, downloadThroughput: 4 * MIB, uploadThroughput: 2 * MIB };
  await session.send("Network.emulateNetworkConditions", slow);
  await page.goto(`http://127.0.0.1:${network.port}/`);
  await drop(page, ...files);
  await network.whenSent(MIB);
  await press(page, "Pause 1.bin", 150);
  await page.locator(".uploads li.paused", { hasText: "1.bin" }).waitFor();
  // The button that took the place of the one that was pressed.
  equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Resume 1.bin");
  await press(page, "Resume 1.bin", 200);
  await page.locator(".uploads li.sending", { hasText: "1.bin" }).waitFor();
  await press(page, "Cancel 2.bin", 200);
  await page.locator(".uploads li", { hasText: "2.bin" }).waitFor({ state: "detached" });
  await page.getByLabel("Pause 3.bin").focus();
  const sent = network.sent;
  await network.whenSent(sent + MIB);
  equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Pause 3.bin");
});

Deno.test("a paused upload is offered again after a reload, and the same file goes on where it stopped", async () => {
  using folder = openFolder();
  using source = openFolder();
  const large = write(source, "large.bin", Buffer.alloc(40 * MIB, "portway"));
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const starts: string[] = [];
  let isOpen = false;
  await page.route(/\?upload=/, (route) => {
    const range = route.request().headers()["content-range"];
    if (route.request().method() !== "PUT" || range === undefined) return route.continue();
    starts.push(range);
    if (isOpen || starts.length <= 2) return route.continue();
  });
  await page.goto(client.url);
  await drop(page, large);
  await page.waitForFunction(() => /16\.8 MB of/.test(document.querySelector(".uploads li span")?.textContent ?? ""));
  await page.getByLabel("Pause large.bin").click();
  const warned = new Promise<string>((resolve) =>
    page.once("dialog", (dialog) => dialog.accept().then(() => resolve(dialog.type())))
  );
  await Promise.all([page.reload(), warned]);
  equal(await warned, "beforeunload");
  await page.getByText("1 upload interrupted").waitFor();
  await page.getByText("16.8 MB of 41.9 MB").first().waitFor();
  isOpen = true;
  starts.length = 0;
  await drop(page, large);
  await page.getByText("1 file uploaded").waitFor();
  match(starts[0], /^bytes 16777216-/);
  ok(fs.readFileSync(path.join(folder.path, "large.bin")).equals(fs.readFileSync(large)));
  await page.reload();
  await page.getByText("large.bin").waitFor();
  equal(await page.locator(".uploads li").count(), 0);
});

Deno.test("an upload goes on where it stopped when the client is killed in the middle and started again", async () => {
  using folder = openFolder();
  using source = openFolder();
  const large = write(source, "large.bin", Buffer.alloc(60 * MIB, "portway"));
  const first = await startLocal("-fw", folder.path);
  let second: RunningClient | null = null;
  try {
    await using network = await openNetwork(first.port);
    await using browser = await openBrowser();
    const page = await browser.newPage();
    const starts: string[] = [];
    const held: Route[] = [];
    const isHeld = Promise.withResolvers<void>();
    await page.route(/\?upload=/, (route) => {
      const range = route.request().headers()["content-range"];
      if (range !== undefined) starts.push(range);
      if (starts.length !== 4 || held.length > 0) return route.continue();
      held.push(route);
      isHeld.resolve();
    });
    await page.goto(`http://127.0.0.1:${network.port}/`);
    await drop(page, large);
    await isHeld.promise;
    await first.kill();
    const args = ["-fw", folder.path, "--local", String(first.port), "--local-host", "127.0.0.1"];
    second = await startClient(args, {});
    starts.length = 0;
    await held[0].abort();
    await page.getByText("1 file uploaded").waitFor({ timeout: 60_000 });
    match(starts[0], /^bytes 25165824-/);
    ok(fs.readFileSync(path.join(folder.path, "large.bin")).equals(fs.readFileSync(large)));
  } finally {
    await first.kill();
    await second?.kill();
  }
});

Deno.test("of many that are moved those without a conflict go, the others are asked about, and all can be undone", async () => {
  using folder = openFolder();
  for (const name of ["1.txt", "2.txt", "3.txt", "4.txt"]) write(folder, name, `new ${name}`);
  for (const name of ["2.txt", "3.txt"]) write(folder, `to/${name}`, "old");
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const problems = collectProblems(page);
  const dialog = page.getByRole("dialog");
  await page.goto(client.url);
  await page.getByText("1.txt").waitFor();
  await page.keyboard.press("Control+a");
  await page.getByLabel("Select to", { exact: true }).click();
  await page.getByRole("button", { name: "Move", exact: true }).click();
  await dialog.getByRole("heading", { name: "Move “1.txt”, “2.txt”, “3.txt” and 1 more to" }).waitFor();
  equal(await dialog.getByRole("button", { name: "Move here" }).isDisabled(), true);
  await dialog.getByRole("button", { name: "to", exact: true }).click();
  await dialog.getByText("/ to").waitFor();
  await dialog.getByRole("button", { name: "Move here" }).click();
  await page.getByRole("heading", { name: "“2.txt” is there already" }).waitFor();
  await dialog.getByRole("button", { name: "Keep both" }).click();
  await page.getByRole("heading", { name: "“3.txt” is there already" }).waitFor();
  await dialog.getByRole("button", { name: "Replace" }).click();
  await page.getByText("Moved 4 items to “to”").waitFor();
  const read = (name: string) => fs.readFileSync(path.join(folder.path, name), "utf8");
  const list = () => fs.readdirSync(folder.path).filter((name) => !name.startsWith(".")).sort();
  deepEqual(fs.readdirSync(path.join(folder.path, "to")).sort(), ["1.txt", "2 (2).txt", "2.txt", "3.txt", "4.txt"]);
  deepEqual([list(), read("to/2.txt"), read("to/3.txt")], [["to"], "old", "new 3.txt"]);

  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("4.txt").waitFor();
  deepEqual([list(), read("3.txt"), read("to/3.txt")], [
    ["1.txt", "2.txt", "3.txt", "4.txt", "to"],
    "new 3.txt",
    "old",
  ]);
  deepEqual(problems, []);
});

Deno.test("what could not be deleted is named at the end, the rest is gone, and comes back by Undo", async () => {
  using folder = openFolder();
  for (const name of ["1.txt", "2.txt", "3.txt"]) write(folder, name, name);
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(client.url);
  await page.getByText("1.txt").waitFor();
  await page.route(
    /2\.txt\?trash/,
    (route) =>
      route.fulfill({
        status: 403,
        json: { error: { code: "not_permitted", message: "The system does not permit this." } },
      }),
  );
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "1 item could not be deleted" }).waitFor();
  await page.getByRole("dialog").getByText("2.txt: The system does not permit this.").waitFor();
  await page.keyboard.press("Escape");
  const list = () => fs.readdirSync(folder.path).filter((name) => !name.startsWith("."));
  deepEqual(list(), ["2.txt"]);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Put back 2 items").waitFor();
  deepEqual(list().sort(), ["1.txt", "2.txt", "3.txt"]);
});

Deno.test("the menu of a row opens by keys and right click, keeps letters to itself, and gives the focus back", async () => {
  using folder = openFolder();
  write(folder, "a.txt", "a");
  write(folder, "b.txt", "b");
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const menu = page.getByRole("menu");
  const getFocus = () =>
    page.evaluate(() => document.activeElement?.getAttribute("role") ?? document.activeElement?.textContent);
  await page.goto(client.url);
  await page.getByText("a.txt").waitFor();
  await page.keyboard.press("ArrowDown");
  for (const key of ["Shift+F10", "ContextMenu"]) {
    await page.keyboard.press(key);
    await menu.waitFor();
    // "n" and "u" would make a folder and upload; here nothing begins with them.
    for (const letter of ["n", "u", "Delete"]) await page.keyboard.press(letter);
    equal(await page.getByRole("dialog").count(), 0);
    await page.keyboard.press("m");
    equal(await page.evaluate(() => document.activeElement?.textContent), "Move…");
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "detached" });
    equal(await getFocus(), "grid");
  }
  await page.getByText("b.txt").click({ button: "right" });
  await menu.waitFor();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.getByLabel("New name").waitFor();
  equal(await page.getByLabel("New name").inputValue(), "b.txt");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  equal(await getFocus(), "grid");

  await page.keyboard.press("?");
  await page.getByLabel("Single characters do something").uncheck();
  await page.keyboard.press("Escape");
  for (const letter of ["n", "?", "/"]) await page.keyboard.press(letter);
  equal(await page.getByRole("dialog").count(), 0);
  equal(await getFocus(), "grid");
});

Deno.test("an entry is dragged onto a folder of the list, and what others change appears by itself", async () => {
  using folder = openFolder();
  write(folder, "a.txt", "a");
  fs.mkdirSync(path.join(folder.path, "docs"));
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const watching = page.waitForResponse(/\?watch/);
  await page.goto(client.url);
  await page.locator(".row", { hasText: "a.txt" }).dragTo(page.locator(".row", { hasText: "docs" }));
  await page.getByText("Moved “a.txt” to “docs”").waitFor();
  ok(fs.existsSync(path.join(folder.path, "docs", "a.txt")));
  await watching;
  write(folder, "by others.txt", "b");
  await page.getByText("by others.txt").waitFor();
  fs.rmSync(path.join(folder.path, "by others.txt"));
  await page.getByText("by others.txt").waitFor({ state: "detached" });
});

Deno.test("a search has an address, a scope and a zip of what was found", async () => {
  using folder = openFolder();
  write(folder, "docs/deep/needle.txt", "one");
  write(folder, "docs/other.txt", "no");
  write(folder, "more/needle.md", "two");
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(`${client.url}docs/?search=needle`);
  await page.getByText("1 hit for “needle”").waitFor();
  await page.getByRole("button", { name: "Everywhere" }).click();
  await page.getByText("2 hits for “needle”").waitFor();
  equal(page.url(), `${client.url}?search=needle`);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Zip" }).click();
  const zip = fs.readFileSync(await (await download).path(), "latin1");
  deepEqual(["docs/deep/needle.txt", "more/needle.md", "other.txt"].map((name) => zip.includes(name)), [
    true,
    true,
    false,
  ]);
  await page.getByLabel("Actions for docs/deep/needle.txt").click();
  await page.getByRole("menuitem", { name: "Show in its folder" }).click();
  await page.getByRole("row", { name: "needle.txt" }).waitFor();
  equal(page.url(), `${client.url}docs/deep/`);
});

Deno.test("Delete and F2 act on the row that has the focus, and on the selection when that row is part of it", async () => {
  using folder = openFolder();
  for (const name of ["a.txt", "b.txt", "c.txt"]) write(folder, name, name);
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(client.url);
  const heading = (text: string) => page.getByRole("heading", { name: text });
  await page.locator(".row", { hasText: "a.txt" }).waitFor();
  await page.keyboard.press("ArrowDown");
  const focus = (name: string) => page.locator(".row", { hasText: name }).locator("a.name").focus();
  await focus("b.txt");
  await page.keyboard.press("F2");
  equal(await page.getByRole("dialog").getByRole("textbox").inputValue(), "b.txt");
  await page.keyboard.press("Escape");
  await focus("c.txt");
  await page.keyboard.press("Delete");
  await heading("Delete “c.txt”?").waitFor();
  await page.keyboard.press("Escape");
  await page.getByLabel("Select a.txt").click();
  await focus("b.txt");
  await page.keyboard.press("Delete");
  await heading("Delete “b.txt”?").waitFor();
  await page.keyboard.press("Escape");
  await page.getByLabel("Select b.txt").click();
  await focus("b.txt");
  await page.keyboard.press("Delete");
  await heading("Delete 2 items?").waitFor();
  await page.keyboard.press("Escape");
});
