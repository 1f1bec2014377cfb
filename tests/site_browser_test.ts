import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { openFolder, startTunnel } from "./files_kit.ts";
import { openBrowser } from "./kit/mod.ts";

/** A folder with a site in it. */
function openSite(files: Readonly<Record<string, string>>) {
  const folder = openFolder();
  const write = (name: string, content: string) => {
    fs.mkdirSync(path.dirname(path.join(folder.path, name)), { recursive: true });
    fs.writeFileSync(path.join(folder.path, name), content);
  };
  for (const [name, content] of Object.entries(files)) write(name, content);
  return { ...folder, write, read: (name: string) => fs.readFileSync(path.join(folder.path, name), "utf8") };
}

const LIVE = {
  "index.html": '<!doctype html><link rel="stylesheet" href="/style.css"><h1>before</h1>',
  "style.css": "h1 { color: rgb(1, 2, 3) }",
  "notes.txt": "as it was <b>",
};

/** Opens a page and waits until it hears of changes. */
async function openLive(page: Page, url: string): Promise<void> {
  const listening = page.waitForResponse((response) => response.url().includes("/.portway/live?"));
  await page.goto(url);
  await listening;
}

const hasHeading = (text: string) => document.querySelector("h1")?.textContent === text;
const hasColor = (color: string) => getComputedStyle(document.querySelector("h1")!).color === color;

Deno.test("a site with --live in Chromium through a tunnel: an edited page shows its new content by itself", async () => {
  using site = openSite(LIVE);
  await using client = await startTunnel("-w", site.path, "--live");
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  await openLive(page, client.url);
  equal(await page.textContent("h1"), "before");

  // A style sheet is exchanged in place: what was typed into the page stays.
  await page.evaluate(() => document.title = "not loaded again");
  site.write("style.css", "h1 { color: rgb(4, 5, 6) }");
  await page.waitForFunction(hasColor, "rgb(4, 5, 6)");
  equal(await page.title(), "not loaded again");

  const listening = page.waitForResponse((response) => response.url().includes("/.portway/live?"));
  site.write("index.html", LIVE["index.html"].replace("before", "after"));
  await page.waitForFunction(hasHeading, "after");
  await listening;

  // A build writes many files, and some of them many times.
  let loads = 0;
  page.on("load", () => loads++);
  for (let count = 1; count <= 40; count++) {
    site.write(`built/${count % 8}.js`, `${count}`);
    site.write("index.html", LIVE["index.html"].replace("before", `change ${count}`));
  }
  await page.waitForFunction(hasHeading, "change 40");
  ok(loads <= 3, `${loads} loads for 80 changes`);
  ok(!site.read("index.html").includes("script"));
  deepEqual(problems, []);
});

Deno.test("a site with --live in Chromium leaves what is no page alone", async () => {
  using site = openSite(LIVE);
  await using client = await startTunnel("-w", site.path, "--live");
  await using browser = await openBrowser();
  const [text, page] = [await browser.newPage(), await browser.newPage()];
  const answer = await text.goto(`${client.url}notes.txt`);
  equal(await answer?.text(), LIVE["notes.txt"]);
  equal(await text.locator("script").count(), 0);
  await text.evaluate(() => document.title = "not loaded again");
  await openLive(page, client.url);
  site.write("notes.txt", "changed");
  site.write("index.html", LIVE["index.html"].replace("before", "after"));
  await page.waitForFunction(hasHeading, "after");
  // The page beside it has heard of the change by now and been loaded; this one would have been, too.
  deepEqual([await text.title(), await text.textContent("body")], ["not loaded again", LIVE["notes.txt"]]);
});

Deno.test("a site with --live in Chromium waits for a build that begins with an empty folder", async () => {
  using site = openSite(LIVE);
  await using client = await startTunnel("-w", site.path, "--live");
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await openLive(page, client.url);
  const asks = () => page.waitForResponse((response) => response.request().method() === "HEAD");
  const [gone] = await Promise.all([asks(), fs.rmSync(site.path, { recursive: true })]);
  equal(gone.status(), 404);
  const [empty] = await Promise.all([asks(), fs.mkdirSync(site.path)]);
  deepEqual([empty.status(), await page.textContent("h1")], [404, "before"]);
  site.write("index.html", LIVE["index.html"].replace("before", "after"));
  await page.waitForFunction(hasHeading, "after");
});

const APP = {
  "index.html": '<!doctype html><main></main><script type="module" src="/app.js"></script>',
  "app.js": `
const show = () => document.querySelector("main").textContent = "route " + location.pathname;
addEventListener("popstate", show);
document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (link === null) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  show();
});
show();
document.body.append(Object.assign(document.createElement("a"), { href: "/users/jane.doe", textContent: "Jane" }));
`,
};

Deno.test("a site with --spa in Chromium: a deep link, a reload and the way back show the route", async () => {
  using site = openSite(APP);
  await using client = await startTunnel("-w", site.path, "--spa");
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const showsRoute = (route: string) => document.querySelector("main")?.textContent === `route ${route}`;
  const answer = await page.goto(`${client.url}users/7/edit?tab=2#top`);
  equal(answer?.status(), 200);
  await page.waitForFunction(showsRoute, "/users/7/edit");
  await page.getByText("Jane").click();
  await page.waitForFunction(showsRoute, "/users/jane.doe");
  equal((await page.reload())?.status(), 200);
  await page.waitForFunction(showsRoute, "/users/jane.doe");
  await page.goBack();
  await page.waitForFunction(showsRoute, "/users/7/edit");
  const missing = await page.evaluate(async () =>
    await Promise.all(["/gone.js", "/img/gone.png"].map(async (url) => (await fetch(url)).status))
  );
  deepEqual(missing, [404, 404]);
});

Deno.test("a site in Chromium: addresses without an ending, folders, and its own page for what is missing", async () => {
  using site = openSite({
    "index.html": '<!doctype html><a href="about">about</a> <a href="blog">blog</a> <a href="gone">gone</a>',
    "about.html": "<!doctype html><h1>about us</h1>",
    "blog/index.html": '<!doctype html><h1>blog</h1><img src="dot.svg">',
    "blog/dot.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>',
    "404.html": "<!doctype html><h1>nothing here</h1>",
  });
  await using client = await startTunnel("-w", site.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(client.url);
  await page.getByText("about").click();
  await page.waitForFunction(hasHeading, "about us");
  match(page.url(), /\/about$/);
  await page.goBack();
  await page.getByText("blog").click();
  await page.waitForFunction(() => document.querySelector("img")?.naturalWidth === 7);
  match(page.url(), /\/blog\/$/);
  await page.goBack();
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith("/gone")),
    page.getByText("gone").click(),
  ]);
  await page.waitForFunction(hasHeading, "nothing here");
  equal(answer.status(), 404);
});
