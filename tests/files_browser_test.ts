import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import fs from "node:fs";
import path from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { collectProblems, drop } from "./files_browser_kit.ts";
import { openFolder, openNetwork, startLocal, startTunnel } from "./files_kit.ts";

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

async function openPage(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage({ acceptDownloads: true });
  await page.goto(url);
  return page;
}

function plant(folder: string): void {
  fs.mkdirSync(path.join(folder, "docs", "deep"), { recursive: true });
  fs.writeFileSync(
    path.join(folder, "README.md"),
    "# Hello\n\n<script>document.title='pwned'</script>\n\n**bold** [x](javascript:alert(1)) <img src=x onerror=alert(1)>\n",
  );
  fs.writeFileSync(path.join(folder, "code.ts"), "const answer: number = 42; // why\n");
  fs.writeFileSync(
    path.join(folder, "evil.html"),
    "<script>parent.document.title='pwned';top.document.title='pwned'</script><p>page</p>",
  );
  fs.writeFileSync(path.join(folder, "<img src=x onerror=document.title='pwned'>.txt"), "x");
  fs.writeFileSync(path.join(folder, "docs", "deep", "needle.txt"), "found");
  const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///ywAAAAAAQABAAACAkQBADs=", "base64");
  fs.writeFileSync(path.join(folder, "dot.gif"), gif);
}

for (const [kind, start] of [["on the local network", startLocal], ["through a tunnel", startTunnel]] as const) {
  Deno.test(`a visitor ${kind} browses, previews, searches and downloads in Chromium`, async () => {
    using folder = openFolder();
    plant(folder.path);
    await using client = await start("-f", folder.path);
    const browser = await chromium.launch(CHROMIUM);
    try {
      const page = await openPage(browser, client.url);
      const problems = collectProblems(page);
      await page.getByRole("row", { name: "docs" }).waitFor();
      equal(await page.locator(".row").count(), 6);

      await page.getByText("README.md").click();
      await page.locator("article.markdown strong").waitFor();
      equal(await page.locator("article.markdown script").count(), 0);
      equal(await page.locator("article.markdown a").count(), 0);
      match(page.url(), /#README\.md$/);
      await page.keyboard.press("Escape");

      await page.getByText("code.ts").click();
      await page.locator(".t-keyword", { hasText: "const" }).waitFor();
      await page.keyboard.press("Escape");

      await page.getByText("dot.gif").click();
      await page.waitForFunction(() => document.querySelector<HTMLImageElement>("img.shown")?.naturalWidth === 1);
      await page.keyboard.press("Escape");

      await page.getByText("evil.html").click();
      await page.frameLocator("dialog iframe").locator("p").waitFor();
      await page.keyboard.press("Escape");

      await page.getByText("docs", { exact: true }).click();
      await page.getByText("deep", { exact: true }).waitFor();
      match(page.url(), /\/docs\/$/);
      await page.goBack();
      await page.getByText("code.ts").waitFor();

      await page.keyboard.press("/");
      await page.keyboard.type("needle");
      await page.keyboard.press("Enter");
      await page.getByText("needle.txt").waitFor();
      const download = page.waitForEvent("download");
      await page.getByLabel("Actions for docs/deep/needle.txt").click();
      await page.getByRole("menuitem", { name: "Download" }).click();
      equal(fs.readFileSync(await (await download).path(), "utf8"), "found");
      ok(!(await page.title()).includes("pwned"));
      deepEqual(problems, []);
    } finally {
      await browser.close();
    }
  });

  Deno.test(`a folder of 500 files dropped ${kind} arrives whole although the network is cut in the middle`, async () => {
    using folder = openFolder();
    using source = openFolder();
    const album = path.join(source.path, "album");
    fs.mkdirSync(path.join(album, "deep"), { recursive: true });
    for (let index = 0; index < 500; index++) {
      fs.writeFileSync(path.join(album, index % 2 === 0 ? "" : "deep", `${index}.txt`), `file ${index} `.repeat(200));
    }
    fs.writeFileSync(path.join(album, "large.bin"), Buffer.alloc(24_000_000, "abcdefg"));
    await using client = await start("-fw", folder.path);
    await using network = await openNetwork(client.port);
    const browser = await chromium.launch(CHROMIUM);
    try {
      const { hostname } = new URL(client.url);
      const page = await openPage(browser, `http://${hostname}:${network.port}/`);
      await page.getByText("This folder is empty").waitFor();
      await drop(page, album);
      await network.whenSent(2_000_000);
      network.cut();
      await page.getByText("trying again").first().waitFor();
      ok(fs.readdirSync(path.join(folder.path, "album"), { recursive: true }).length < 502);
      network.mend();
      await page.getByText("501 files uploaded").waitFor({ timeout: 60_000 });
      await page.getByRole("row", { name: "album" }).waitFor();
    } finally {
      await browser.close();
    }
    const list = (base: string) =>
      fs.readdirSync(base, { recursive: true }).map(String).sort().map((name) => {
        const file = path.join(base, name);
        return fs.statSync(file).isFile() ? `${name} ${fs.readFileSync(file).toString("base64")}` : name;
      });
    deepEqual(list(path.join(folder.path, "album")), list(album));
  });
}

Deno.test("a visitor sees nothing of a protected share before the passphrase is answered in its modal", async () => {
  using folder = openFolder();
  fs.writeFileSync(path.join(folder.path, "private-name.txt"), "private content");
  await using client = await startTunnel("-f", folder.path, "-p", "open sesame");
  const browser = await chromium.launch(CHROMIUM);
  try {
    const page = await openPage(browser, client.url);
    await page.getByRole("dialog").getByText("This share is protected").waitFor();
    ok(!(await page.content()).includes("private") && !(await page.content()).includes(path.basename(folder.path)));
    await page.getByLabel("Passphrase", { exact: true }).fill("wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("That is not the passphrase").waitFor();
    await page.getByLabel("Passphrase", { exact: true }).fill("open sesame");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("private-name.txt").waitFor();
    const [cookie] = await page.context().cookies();
    deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Lax"]);
    ok(!client.output.join("").includes("sesame"));
    await page.getByLabel("Sign out").click();
    await page.getByText("This share is protected").waitFor();
  } finally {
    await browser.close();
  }
});

Deno.test("a visitor makes, renames, moves and deletes with mouse and keys, and 10,000 entries stay quick to use", async () => {
  using folder = openFolder();
  fs.writeFileSync(path.join(folder.path, "a.txt"), "a");
  fs.mkdirSync(path.join(folder.path, "many"));
  for (let index = 0; index < 10_000; index++) {
    fs.writeFileSync(path.join(folder.path, "many", `file ${index}.txt`), "");
  }
  await using client = await startLocal("-fw", folder.path);
  const browser = await chromium.launch(CHROMIUM);
  try {
    const page = await openPage(browser, client.url);
    await page.getByText("a.txt").waitFor();
    await page.keyboard.press("n");
    await page.getByLabel("Name", { exact: true }).fill("many");
    await page.keyboard.press("Enter");
    await page.getByText("Something of that name is already here").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("new folder");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: "new folder" }).waitFor();

    await page.getByLabel("Actions for a.txt").click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByLabel("New name").fill("b.txt");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: "b.txt" }).waitFor();

    await page.getByLabel("Actions for b.txt").click();
    await page.getByRole("menuitem", { name: "Move" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "new folder" }).click();
    await page.getByText(" / new folder").waitFor();
    await page.getByRole("button", { name: "Move here" }).click();
    await page.getByRole("row", { name: "b.txt" }).waitFor({ state: "detached" });
    ok(fs.existsSync(path.join(folder.path, "new folder", "b.txt")));

    await page.keyboard.press("End");
    await page.keyboard.press("Delete");
    await page.getByRole("heading", { name: "Delete “new folder”?" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Delete “new folder”?" }).waitFor({ state: "detached" });
    ok(fs.existsSync(path.join(folder.path, "new folder")));
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("row", { name: "new folder" }).waitFor({ state: "detached" });
    deepEqual(fs.readdirSync(folder.path).filter((name) => !name.startsWith(".")), ["many"]);

    await page.getByText("many", { exact: true }).click();
    await page.getByText("10,000 items").waitFor();
    ok(await page.locator(".row").count() < 100);
    await page.keyboard.press("End");
    await page.getByText("file 9999.txt").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("4321");
    await page.getByText("1 of 10,000 items").waitFor();
    equal(await page.locator(".row").count(), 1);
  } finally {
    await browser.close();
  }
});

Deno.test("a visitor with a phone sees names as they are and lines beside their numbers", async () => {
  using folder = openFolder();
  const write = (name: string, text: string) => fs.writeFileSync(path.join(folder.path, name), text);
  // What turns the direction of writing would show "exe.jpg".
  write("photo\u202egpj.exe", "");
  write("two\nlines.txt", "");
  write("long.ts", `first\n${"x".repeat(5000)}\nthird\n`);
  await using client = await startLocal("-f", folder.path);
  const browser = await chromium.launch(CHROMIUM);
  try {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    await page.goto(client.url);
    await page.getByText("long.ts").waitFor();
    deepEqual(await page.locator("a.name").allInnerTexts(), ["long.ts", "photo\ufffdgpj.exe", "two\ufffdlines.txt"]);
    await page.getByText("two\ufffdlines.txt").click();
    await page.getByRole("dialog", { name: "two\ufffdlines.txt" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("long.ts").click();
    await page.getByText("third").waitFor();
    const [numbers, lines, scroll] = await page.evaluate(() =>
      [".numbers", ".lines", "dialog"].map((name) => {
        const element = document.querySelector(name)!;
        const { top, height } = element.getBoundingClientRect();
        return { top, height, overflow: element.scrollWidth - element.clientWidth };
      })
    );
    deepEqual([numbers.top, numbers.height], [lines.top, lines.height]);
    equal(scroll.overflow, 0);
  } finally {
    await browser.close();
  }
});

Deno.test("a visitor looks at Markdown that is made to take for ever, and sees its text", async () => {
  using folder = openFolder();
  const hostile = {
    "brackets.md": "[".repeat(200_000),
    "images.md": "![".repeat(100_000),
    "quotes.md": "> ".repeat(50_000),
    "spaces.md": `# ${" ".repeat(200_000)}x`,
    "stars.md": "**a _b [c ".repeat(50_000),
    "paragraphs.md": `${"![a](b ".repeat(1000)}\n\n`.repeat(100),
    "cells.md": `|a|\n|-|\n${"|x|\n".repeat(3000)}`,
  };
  for (const [name, text] of Object.entries(hostile)) {
    fs.writeFileSync(path.join(folder.path, name), `a *first* line\n\n${text}\n`);
  }
  await using client = await startLocal("-f", folder.path);
  const browser = await chromium.launch(CHROMIUM);
  try {
    const page = await openPage(browser, client.url);
    const problems = collectProblems(page);
    for (const [name, text] of Object.entries(hostile)) {
      await page.getByText(name).click();
      await page.locator("article em").first().waitFor();
      const length = await page.evaluate(() => document.querySelector("article")?.textContent?.length ?? 0);
      // Quotes inside one another hold nothing but themselves, and spaces before a word are nothing.
      ok(length > text.replaceAll(/[>\s#|]/g, "").length / 4, `${name}: ${length}`);
      await page.keyboard.press("Escape");
    }
    deepEqual(problems, []);
  } finally {
    await browser.close();
  }
});
