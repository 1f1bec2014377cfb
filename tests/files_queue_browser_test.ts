import { deepEqual } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import type { Browser, BrowserContext, Page, Route } from "playwright-core";
import { collectProblems, drop } from "./files_browser_kit.ts";
import { openFolder, startLocal } from "./files_kit.ts";
import { openBrowser } from "./kit/mod.ts";

function plant(count: number) {
  const folder = openFolder();
  const paths = Array.from({ length: count }, (_, index) => path.join(folder.path, `${index}.txt`));
  for (const path of paths) fs.writeFileSync(path, "content");
  return { ...folder, paths };
}

/** Opens an empty share in which `onput` decides what becomes of each upload. */
async function openShare(
  browser: Browser | BrowserContext,
  url: string,
  onput: (route: Route) => unknown,
): Promise<Page> {
  const page = await browser.newPage();
  await page.route(/\?upload=/, (route) => route.request().method() === "PUT" ? onput(route) : route.continue());
  await page.goto(url);
  await page.getByText("This folder is empty").waitFor();
  return page;
}

const refuse = (route: Route) =>
  route.fulfill({ status: 403, json: { error: { code: "not_permitted", message: "Not allowed here." } } });

/** Waits until the panel shows so many rows of these states. */
function waitForRows(page: Page, expected: Readonly<Record<string, number>>) {
  return page.waitForFunction(
    (expected) =>
      Object.entries(expected).every(([state, count]) =>
        document.querySelectorAll(`.uploads li.${state}`).length === count
      ),
    expected,
  );
}

const control = (page: Page, name: string) =>
  page.locator(".uploads header").getByRole("button", { name, exact: true });
const heading = (page: Page) => page.locator(".uploads header strong");
const detail = (page: Page) => page.locator(".uploads header .detail");

Deno.test("a paused upload makes room at once, and one that is resumed after a cut is sent once", async () => {
  using folder = openFolder();
  using source = plant(5);
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const context = await browser.newContext();
  // Timers as long as those between two tries go off when the test says so.
  await context.addInitScript(() => {
    const start = globalThis.setTimeout;
    const held: (() => void)[] = [];
    const hold = (action: () => void, delay = 0) =>
      delay < 500 || delay > 15_000 ? start(action, delay) : held.push(action);
    Object.assign(globalThis, { setTimeout: hold, goOff: () => held.forEach((action) => action()) });
  });
  let isCut = true;
  const sent: string[] = [];
  const held: Route[] = [];
  const allSent = Promise.withResolvers<void>();
  const page = await openShare(context, client.url, (route) => {
    if (isCut) return route.abort();
    sent.push(new URL(route.request().url()).pathname);
    if (held.push(route) === 4) allSent.resolve();
    if (held.length > 4) return route.continue();
  });
  await drop(page, ...source.paths);
  await waitForRows(page, { retrying: 4, waiting: 1 });
  await page.locator(".uploads li.retrying").first().getByLabel("Pause").click();
  await waitForRows(page, { retrying: 4, paused: 1 });

  isCut = false;
  await control(page, "Pause all").click();
  await waitForRows(page, { paused: 5 });
  await control(page, "Resume all").click();
  await allSent.promise;
  await page.evaluate("goOff()");
  await Promise.all(held.slice(0, 4).map((route) => route.continue()));
  await page.getByText("5 files uploaded").waitFor();
  deepEqual(sent.sort(), ["/0.txt", "/1.txt", "/2.txt", "/3.txt", "/4.txt"]);
  deepEqual(fs.readdirSync(folder.path).filter((name) => !name.startsWith(".")).length, 5);
});

Deno.test("one upload can be resumed after all were paused, and while all are paused no speed is shown", async () => {
  using folder = openFolder();
  using source = plant(3);
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  let isOpen = false;
  const page = await openShare(browser, client.url, (route) => isOpen && route.continue());
  await drop(page, ...source.paths);
  await waitForRows(page, { sending: 3 });
  await control(page, "Pause all").click();
  await waitForRows(page, { paused: 3 });
  deepEqual(await heading(page).innerText(), "3 uploads paused");
  deepEqual(/\/s|left/.test(await detail(page).innerText()), false);

  isOpen = true;
  await page.locator(".uploads li", { hasText: "1.txt" }).getByLabel("Resume").click();
  await waitForRows(page, { done: 1, paused: 2 });
  deepEqual(fs.readFileSync(path.join(folder.path, "1.txt"), "utf8"), "content");
  await control(page, "Resume all").click();
  await page.getByText("3 files uploaded").waitFor();
});

Deno.test("uploads that failed are named in the heading, tried again together and cleared together", async () => {
  using folder = openFolder();
  using source = plant(70);
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  let isAllowed = (_name: string) => false;
  const page = await openShare(browser, client.url, (route) => {
    const name = new URL(route.request().url()).pathname;
    return isAllowed(name) ? route.continue() : refuse(route);
  });
  await drop(page, ...source.paths);
  await page.getByText("70 uploads failed").waitFor();
  deepEqual(await page.locator(".uploads > .bar i").evaluate((bar) => (bar as HTMLElement).style.width), "0%");

  isAllowed = (name) => name.length === "/1.txt".length;
  await control(page, "Try all again").click();
  await page.getByText("60 uploads failed").waitFor();
  deepEqual(fs.readdirSync(folder.path).filter((name) => !name.startsWith(".")).length, 10);
  await control(page, "Clear what failed").click();
  await page.getByText("10 files uploaded").waitFor();
  await waitForRows(page, { failed: 0, done: 10 });
  await control(page, "Close").click();
  await page.locator(".uploads").waitFor({ state: "hidden" });

  isAllowed = () => false;
  await drop(page, ...source.paths.slice(10, 12));
  await page.getByText("2 uploads failed").waitFor();
  await control(page, "Close").click();
  await page.locator(".uploads").waitFor({ state: "hidden" });
});

Deno.test("the panel folds while uploads are under way", async () => {
  using folder = openFolder();
  using source = plant(1);
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const page = await openShare(browser, client.url, () => {});
  await drop(page, ...source.paths);
  await waitForRows(page, { sending: 1 });
  await control(page, "Fold").click();
  await page.locator(".uploads ul").waitFor({ state: "hidden" });
  await control(page, "Unfold").click();
  await page.locator(".uploads ul").waitFor();
});

Deno.test("a dropped folder arrives although one inside it cannot be read, which is named", async () => {
  using folder = openFolder();
  using source = openFolder();
  for (const name of ["album/a.txt", "album/locked/b.txt", "album/open/c.txt"]) {
    fs.mkdirSync(path.dirname(path.join(source.path, name)), { recursive: true });
    fs.writeFileSync(path.join(source.path, name), "content");
  }
  await using client = await startLocal("-fw", folder.path);
  await using browser = await openBrowser();
  const page = await openShare(browser, client.url, (route) => route.continue());
  const problems = collectProblems(page);
  // What Chromium says of a folder without permission, of which there is none for root.
  await page.evaluate(() => {
    const take = DataTransferItem.prototype.webkitGetAsEntry;
    DataTransferItem.prototype.webkitGetAsEntry = function () {
      const album = take.call(this) as FileSystemDirectoryEntry;
      const folders: { createReader: (this: FileSystemEntry) => unknown } = Object.getPrototypeOf(album);
      const { createReader } = folders;
      folders.createReader = function () {
        const readEntries = (_: unknown, fail: (error: DOMException) => void) =>
          fail(new DOMException("The folder cannot be read.", "InvalidModificationError"));
        return this.name === "locked" ? { readEntries } : createReader.call(this);
      };
      return album;
    };
  });
  await drop(page, path.join(source.path, "album"));
  await page.getByRole("alert").getByText("album/locked").waitFor();
  await page.getByText("2 files uploaded").waitFor();
  deepEqual(fs.readdirSync(path.join(folder.path, "album"), { recursive: true }).sort(), [
    "a.txt",
    "open",
    "open/c.txt",
  ]);
  deepEqual(problems, []);
});
