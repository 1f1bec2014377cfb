import { deepEqual, equal } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { collectProblems } from "./files_browser_kit.ts";
import { openFolder, startLocal } from "./files_kit.ts";
import { openBrowser } from "./kit/mod.ts";

function plant(files: Readonly<Record<string, string>>) {
  const folder = openFolder();
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder.path, name)), { recursive: true });
    fs.writeFileSync(path.join(folder.path, name), content);
  }
  return folder;
}

const listNames = (page: Page) => page.locator("a.name").allInnerTexts();

async function search(page: Page, text: string): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
  await page.locator(".crumbs em").waitFor();
}

Deno.test("a visitor who goes back from a hit is among the hits again, and in the whole folder after one more step", async () => {
  using folder = plant({ "a.txt": "a", "docs/deep/needle.txt": "found", "docs/needle.md": "found" });
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const field = page.getByRole("searchbox");
  await page.goto(client.url);
  await page.getByText("a.txt").waitFor();
  await search(page, "needle");
  const hits = await listNames(page);
  deepEqual(hits.length, 2);
  await page.getByText("needle.txt").click();
  await page.getByRole("dialog").getByText("found").waitFor();

  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  deepEqual([await listNames(page), await field.inputValue()], [hits, "needle"]);
  await page.goBack();
  await page.getByText("a.txt").waitFor();
  deepEqual([await listNames(page), await field.inputValue()], [["docs", "a.txt"], ""]);
  await page.goForward();
  await page.getByText("needle.txt").waitFor();
  deepEqual([await listNames(page), await field.inputValue()], [hits, "needle"]);
});

Deno.test("a hit is shown by its address: among the hits when the page is loaded again, else in its folder", async () => {
  using folder = plant({ "needle.txt": "another", "docs/deep/a.txt": "first", "docs/deep/needle.txt": "found" });
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(client.url);
  await page.getByText("needle.txt").waitFor();
  await search(page, "deep needle");
  await page.getByText("needle.txt").click();
  await page.getByRole("dialog").getByText("found").waitFor();
  await page.reload();
  await page.getByRole("dialog").getByText("found").waitFor();
  await page.keyboard.press("Escape");
  deepEqual(await listNames(page), ["docs/deep/needle.txt"]);

  const other = await browser.newPage();
  await other.goto(`${client.url}#docs%2Fdeep%2Fneedle.txt`);
  await other.getByRole("dialog").getByText("found").waitFor();
  equal(other.url(), `${client.url}docs/deep/#needle.txt`);
  await other.getByRole("dialog").getByLabel("Previous").click();
  await other.getByRole("dialog").getByText("first").waitFor();

  await other.goto(`${client.url}#gone%2Fneedle.txt`);
  await other.getByRole("alert").waitFor();
  equal(await other.getByRole("dialog").count(), 0);
  deepEqual(await listNames(other), ["docs", "needle.txt"]);
});

Deno.test("a preview opened by its address goes on to the files beside it", async () => {
  using folder = plant({ "a.txt": "first", "b.txt": "second", "c.txt": "third", "d.txt": "fourth" });
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const dialog = page.getByRole("dialog");
  await page.goto(`${client.url}#c.txt`);
  await dialog.getByText("third").waitFor();
  await dialog.getByLabel("Next").click();
  await dialog.getByText("fourth").waitFor();
  await page.goto(`${client.url}#c.txt`);
  await dialog.getByText("third").waitFor();
  await dialog.getByLabel("Previous").click();
  await dialog.getByText("second").waitFor();
});

Deno.test("a percent sign in the address is part of a name, and the list can be used with keys at once", async () => {
  using folder = plant({ "a.txt": "first", "100%": "all of it" });
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const problems = collectProblems(page);
  await page.goto(`${client.url}#100%`);
  await page.getByRole("dialog").getByText("all of it").waitFor();
  await page.goto("about:blank");
  await page.goto(`${client.url}#50%`);
  await page.getByText("a.txt").waitFor();
  await page.locator("[role=grid]:focus").waitFor();
  deepEqual(problems, []);
});

Deno.test("a folder has the same title however it is reached", async () => {
  using folder = plant({ "docs/a.txt": "a" });
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(`${client.url}docs/`);
  await page.getByText("a.txt").waitFor();
  equal(await page.title(), "docs");
  await page.getByRole("link", { name: path.basename(folder.path) }).first().click();
  await page.getByText("docs", { exact: true }).click();
  await page.getByText("a.txt").waitFor();
  equal(await page.title(), "docs");
});
