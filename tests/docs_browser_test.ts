/** The documentation site, built from docs/ and served by the real server. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { existsSync } from "node:fs";
import { buildSite } from "../scripts/build_site.ts";
import { openBrowser, startServer } from "./kit/mod.ts";

const SITE = new URL("../site/dist/", import.meta.url);

Deno.test("the documentation in Chromium: each page loads without an error, and the search finds terms", async (t) => {
  if (!existsSync(SITE)) buildSite();
  await using server = await startServer();
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));

  await t.step("each link in the sidebar leads to a page", async () => {
    await page.goto(`${server.url}/docs/start/first-tunnel`);
    const links = await page.$$eval(".VPSidebar a", (list) => list.map((link) => (link as HTMLAnchorElement).href));
    ok(links.length > 20, `${links.length} links`);
    for (const link of links) equal((await page.goto(link))?.status(), 200, link);
  });

  for (const [term, path] of [["reconnect", "how-it-works"], ["429", "errors"], ["tunnel_offline", "errors"]]) {
    await t.step(`the search finds "${term}"`, async () => {
      await page.goto(`${server.url}/docs/start/first-tunnel`);
      await page.click(".DocSearch-Button");
      await page.fill("#localsearch-input", term);
      await page.waitForFunction(
        (part) =>
          [...document.querySelectorAll(".VPLocalSearchBox .result")].some((link) => link.outerHTML.includes(part)),
        path,
      );
    });
  }

  await t.step("no page reported an error", () => deepEqual(problems, []));
});
