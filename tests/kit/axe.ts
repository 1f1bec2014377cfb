import fs from "node:fs";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const AXE = fs.readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** Serious and critical findings of axe, each with where it is. @param state says in which state the page is */
export async function findProblems(page: Page, state: string): Promise<string[]> {
  // A transition between two colours has contrasts of its own.
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {}))));
  await page.evaluate(AXE);
  const { violations }: AxeResults = await page.evaluate("axe.run({ iframes: false })");
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${state}: ${id}: ${html.slice(0, 160)}`));
}
