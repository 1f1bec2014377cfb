import { deepEqual } from "node:assert/strict";
import fs from "node:fs";
import type { AxeResults } from "axe-core";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { openBrowser } from "./kit/mod.ts";
import { USER, type ViewsServer } from "./views_kit.ts";

const AXE = fs.readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** All that axe finds on a page, of any weight. */
export async function findFaults(page: Page): Promise<string[]> {
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {}))));
  await page.evaluate(AXE);
  const { violations }: AxeResults = await page.evaluate("axe.run()");
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}

/** Opens a page of HQ as the user, and fails for what the page complains of. */
export async function withPage(
  { server }: ViewsServer,
  options: BrowserContextOptions,
  run: (page: Page) => Promise<void>,
): Promise<void> {
  await using browser = await openBrowser();
  const context = await browser.newContext({ baseURL: server.url, ...options });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto("/sign-in?next=/views");
  await page.getByLabel("Email").fill(USER.email);
  await page.getByLabel("Password", { exact: true }).fill(USER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => url.pathname !== "/sign-in");
  await run(page);
  deepEqual(errors, []);
  await context.close();
}

/** Rows of the list of calls that are there. */
export const rows = (page: Page): Locator => page.locator(".capture-row");
/** Sends a call, and gives the answer's text. */
export const send = async (url: string, init: RequestInit = {}): Promise<string> =>
  await (await fetch(url, init)).text();
