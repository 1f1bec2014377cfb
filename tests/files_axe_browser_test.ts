import { deepEqual } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { drop } from "./files_browser_kit.ts";
import { openFolder, startLocal } from "./files_kit.ts";
import { findProblems, openBrowser } from "./kit/mod.ts";

function plant(folder: string): void {
  const files = {
    "README.md":
      "# Title\n\n- [ ] a task\n- [x] another\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst a = 1; // why\n```\n" +
      "\n> [!WARNING]\n> Careful\n\n[docs](docs/) ![remote](https://example.com/a.png)",
    "code.ts":
      "/** Doc */\nexport class A extends B {\n  readonly x: number = 42; // why\n  f() { return `a ${this.x}`; }\n}\n",
    "data.csv": "a,b\n1,2\n",
    "data.json": '{"a":[1,2]}',
    "page.html": "<h1>Page</h1>",
    "archive.zip": "PK",
    "docs/needle.txt": "found",
    "docs/dot.svg": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>',
    "a name that is as long as names can be in a list which has no room for all of it, and goes on.txt": "x",
  };
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content);
  }
  fs.mkdirSync(path.join(folder, "empty"));
}

/** Goes through the states of the page, and calls `look` in each. */
async function visitStates(page: Page, url: string, source: string, look: (state: string) => Promise<void>) {
  const dialog = page.getByRole("dialog");
  const close = async () => {
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  };
  await page.goto(url);
  await page.getByText("code.ts").waitFor();
  await look("list");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await look("selection");
  for (const [key, name] of [["Delete", "delete"], ["?", "help"], ["n", "new folder"], ["F2", "rename"]]) {
    await page.keyboard.press(key);
    await dialog.waitFor();
    await look(name);
    await close();
  }
  await page.keyboard.press("Shift+F10");
  await look("menu");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Move", exact: true }).click();
  await dialog.getByRole("button", { name: "empty" }).waitFor();
  await look("move");
  await close();
  for (const name of ["README.md", "code.ts", "data.csv", "data.json", "page.html", "archive.zip", "docs%2Fdot.svg"]) {
    await page.goto(`${url}#${name}`);
    await dialog.locator(".body > :not(:empty), .body > img").first().waitFor();
    await look(name);
    await close();
  }
  await page.goto(`${url}docs/`);
  await page.getByRole("button", { name: "Show as tiles" }).click();
  await look("tiles");
  await page.getByRole("button", { name: "Show as a list" }).click();
  await page.goto(`${url}docs/?search=needle`);
  await page.getByText("1 hit").waitFor();
  await look("search");
  await page.goto(`${url}missing/`);
  await page.getByRole("link", { name: "One folder up" }).waitFor();
  await look("404");
  await visitUploads(page, url, source, look);
}

async function visitUploads(page: Page, url: string, source: string, look: (state: string) => Promise<void>) {
  await page.route(/\?upload=/, (route) => {
    const name = new URL(route.request().url()).pathname;
    if (name.endsWith("2.bin")) return route.fulfill({ status: 403, json: { error: { message: "Not here." } } });
    if (name.endsWith("3.bin")) return route.continue();
  });
  await page.goto(`${url}empty/`);
  await page.getByText("This folder is empty").waitFor();
  await look("empty");
  await drop(page, ...["1.bin", "2.bin", "3.bin", "4.bin"].map((name) => path.join(source, name)));
  await page.locator(".uploads li.failed").waitFor();
  await page.locator(".uploads li.done").waitFor();
  await page.getByLabel("Pause 4.bin").click();
  await page.locator(".uploads li.paused").waitFor();
  await look("uploads");
  await page.getByLabel("Cancel 1.bin").click();
  await page.getByLabel("Cancel 4.bin").click();
  await page.unroute(/\?upload=/);
  await page.getByRole("row", { name: "3.bin" }).click({ button: "right" });
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await look("undo");
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: "Recently deleted" }).click();
  await page.getByRole("button", { name: "Put back" }).waitFor();
  await look("trash");
  await page.getByRole("button", { name: "Put back" }).click();
  await page.getByText("Put back 1 item").waitFor();
}

const SCREENS: Readonly<Record<string, BrowserContextOptions>> = {
  "in light colours": { colorScheme: "light" },
  "in dark colours": { colorScheme: "dark" },
  "in forced colours": { forcedColors: "active" },
};

for (const [name, options] of Object.entries(SCREENS)) {
  Deno.test(`axe finds nothing serious in any state of the page ${name}`, async () => {
    using folder = openFolder();
    using source = openFolder();
    plant(folder.path);
    for (const name of ["1.bin", "2.bin", "3.bin", "4.bin"]) fs.writeFileSync(path.join(source.path, name), "content");
    await using client = await startLocal("-fw", folder.path);
    await using browser = await openBrowser();
    const page = await (await browser.newContext(options)).newPage();
    const problems: string[] = [];
    await visitStates(page, client.url, source.path, async (state) => {
      problems.push(...await findProblems(page, state));
    });
    deepEqual(problems, []);
  });
}

Deno.test("axe finds nothing serious where the passphrase is asked for, before and after a wrong one", async () => {
  using folder = openFolder();
  await using client = await startLocal("-f", folder.path, "-p", "open sesame");
  await using browser = await openBrowser();
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await (await browser.newContext({ colorScheme })).newPage();
    await page.goto(client.url);
    const before = await findProblems(page, "login");
    await page.getByLabel("Passphrase", { exact: true }).fill("wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("That is not the passphrase").waitFor();
    deepEqual([...before, ...await findProblems(page, "wrong")], []);
  }
});

for (const width of [390, 320]) {
  Deno.test(`on a phone ${width} pixels wide there is one bar, and nothing sticks out in any state`, async () => {
    using folder = openFolder();
    plant(folder.path);
    await using client = await startLocal("-fw", folder.path);
    await using browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width, height: 700 }, isMobile: true, hasTouch: true });
    const page = await context.newPage();
    const measure = () =>
      page.evaluate(() => {
        const wide = [document.documentElement, ...document.querySelectorAll("dialog, main, .menu, .uploads, header")];
        return wide.filter((element) => element.scrollWidth > element.clientWidth + 1).map(({ className }) =>
          className
        );
      });
    await page.goto(client.url);
    await page.getByText("code.ts").waitFor();
    deepEqual(await page.locator("header.head").evaluate((head) => head.getBoundingClientRect().height), 56);
    deepEqual(await measure(), []);
    await page.getByLabel("Actions for code.ts").click();
    deepEqual(await measure(), []);
    await page.getByRole("menuitem", { name: "Move" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "empty" }).waitFor();
    deepEqual(await measure(), []);
    for (const name of ["README.md", "code.ts", "data.csv"]) {
      await page.goto(`${client.url}#${name}`);
      await page.locator("dialog.preview .stage > *").first().waitFor();
      deepEqual(await measure(), []);
    }
    await page.goto(`${client.url}docs/?search=needle`);
    await page.getByText("1 hit").waitFor();
    deepEqual(await measure(), []);
    await page.getByRole("button", { name: "Back", exact: true }).click();
    await page.getByText("dot.svg").waitFor();
    await page.getByRole("button", { name: "Search", exact: true }).click();
    deepEqual(await measure(), []);
  });
}
