import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { collectProblems } from "./files_browser_kit.ts";
import { openFolder, startLocal } from "./files_kit.ts";
import { openBrowser } from "./kit/mod.ts";

const MARKDOWN = `---
title: Front
---
# The first

[second](#the-second) [other](docs/other.md) [wiki](https://en.wikipedia.org/wiki/Foo_(bar)) [named][ref] README.md

***both*** <!-- not shown --> <kbd>Ctrl</kbd> &copy; <b onclick="document.title='pwned'">bold</b>

| code | pipe |
| ---- | ---: |
| \`a\\|b\` | c \\| d |

    indented <code>

- [x] done
- [ ] open

<details><summary>More</summary>

inside **strong**

</details>

<svg onload="document.title='pwned'"><script>document.title='pwned'</script></svg>
<a href="javascript:document.title='pwned'">script</a> <img src="x" onerror="document.title='pwned'">

${"filler\n\n".repeat(60)}
## The second

\`\`\`ts
const a = 1;
\`\`\`

[ref]: https://example.com/
`;

async function open(page: Page, url: string, name: string): Promise<void> {
  await page.goto(`${url}#${name}`);
  await page.locator("dialog.preview .stage > *").first().waitFor();
}

Deno.test("a visitor reads Markdown as it is meant: anchors, links, references, tables, comments, tasks, HTML without scripts", async () => {
  using folder = openFolder();
  fs.mkdirSync(path.join(folder.path, "docs"));
  fs.writeFileSync(path.join(folder.path, "README.md"), MARKDOWN);
  fs.writeFileSync(path.join(folder.path, "docs", "other.md"), "# The other\n");
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const problems = collectProblems(page);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(client.url);
  await page.getByText("README.md").waitFor();
  deepEqual(asked.filter((url) => /lib-|preview_text|markdown\.js/.test(url)), []);
  await page.getByText("README.md").click();
  const article = page.locator("article.markdown");
  await article.getByRole("heading", { name: "The first" }).waitFor();
  ok(asked.every((url) => new URL(url).origin === new URL(client.url).origin));

  const read = (selector: string) => article.locator(selector).allInnerTexts();
  deepEqual(await read("em > strong, strong > em"), ["both"]);
  deepEqual(await read("td"), ["a|b", "c | d"]);
  deepEqual(await article.locator("details strong").allTextContents(), ["strong"]);
  const hrefs = await article.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  deepEqual(hrefs.filter((href) => href?.startsWith("https:")), [
    "https://en.wikipedia.org/wiki/Foo_(bar)",
    "https://example.com/",
  ]);
  ok(!hrefs.some((href) => href?.startsWith("javascript:")));
  deepEqual(
    await article.getByRole("checkbox").evaluateAll((boxes) => boxes.map((box) => box.getAttribute("aria-label"))),
    [
      "done",
      "open",
    ],
  );
  const text = await article.innerText();
  ok(text.includes("title: Front") && text.includes("©") && text.includes("indented <code>"));
  ok(!text.includes("not shown") && !text.includes("pwned"));
  deepEqual(
    await article.evaluate((article) => [article.querySelectorAll("script, svg, [onclick], [onerror]").length]),
    [0],
  );

  await article.getByRole("link", { name: "second" }).click();
  await page.waitForFunction(() =>
    (document.querySelector("article h2")?.getBoundingClientRect().top ?? 1e6) < innerHeight
  );
  await article.getByRole("link", { name: "other" }).click();
  await page.getByRole("heading", { name: "The other" }).waitFor();
  equal(page.url(), `${client.url}docs/#other.md`);
  await page.goBack();
  await page.getByRole("heading", { name: "The first" }).waitFor();
  ok(!(await page.title()).includes("pwned"));
  deepEqual(problems, []);
});

Deno.test("a visitor sees a table of CSV, JSON with all digits of its numbers, wraps long lines and copies the text", async () => {
  using folder = openFolder();
  const write = (name: string, text: string) => fs.writeFileSync(path.join(folder.path, name), text);
  write("data.csv", 'Name;Amount\n"Doe; Jane";1,5\nRoe;20\n');
  write("data.json", '{"id":12345678901234567890,"list":[1,2]}');
  write("code.py", `def f():\n    return "${"x".repeat(3000)}"\n`);
  write("Dockerfile", "FROM debian\nRUN true\n");
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  const problems = collectProblems(page);
  await open(page, client.url, "data.csv");
  deepEqual(await page.locator("th").allInnerTexts(), ["Name", "Amount"]);
  deepEqual(await page.locator("td").allInnerTexts(), ["Doe; Jane", "1,5", "Roe", "20"]);
  await page.goto("about:blank");
  await open(page, client.url, "data.json");
  match(await page.locator(".lines").innerText(), /^\{\n {2}"id": 12345678901234567890,\n {2}"list": \[\n {4}1,/);
  await page.getByRole("button", { name: "Source" }).click();
  await page.getByText('{"id":12345678901234567890').waitFor();
  await page.getByRole("button", { name: "Copy all" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  equal(await page.evaluate(() => navigator.clipboard.readText()), '{"id":12345678901234567890,"list":[1,2]}');

  await page.goto("about:blank");
  await open(page, client.url, "code.py");
  await page.locator(".t-keyword", { hasText: "def" }).waitFor();
  const getOverflow = () => page.locator("div.code").evaluate((code) => code.scrollWidth > code.clientWidth);
  equal(await getOverflow(), true);
  await page.getByRole("button", { name: "Wrap long lines" }).click();
  equal(await getOverflow(), false);
  await page.goto("about:blank");
  await open(page, client.url, "Dockerfile");
  await page.locator(".t-keyword", { hasText: "FROM" }).waitFor();
  deepEqual(problems, []);
});

Deno.test("images are shown as tiles with their pictures, gone through with the keys, and the choice is kept", async () => {
  using folder = openFolder();
  for (let index = 0; index < 300; index++) {
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4" width="4" height="4"><rect width="${
      index % 4
    }" height="4"/></svg>`;
    fs.writeFileSync(path.join(folder.path, `${index}.svg`), svg);
  }
  await using client = await startLocal("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
  await page.goto(client.url);
  await page.getByRole("button", { name: "Show as tiles" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".has-image img").length >= 12);
  ok(await page.locator(".row").count() < 200);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  const columns = await page.locator(".rows").evaluate((rows) =>
    Number(getComputedStyle(rows).getPropertyValue("--columns-count"))
  );
  equal(await page.locator(".row.current a").innerText(), `${columns + 1}.svg`);
  await page.keyboard.press("Enter");
  await page.locator("dialog img.shown").waitFor();
  await page.keyboard.press("Escape");
  await page.reload();
  await page.locator(".tiles .has-image").first().waitFor();
});
