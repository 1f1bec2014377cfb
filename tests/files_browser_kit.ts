import type { Page } from "playwright-core";

/** Drops files or folders of this machine on the page, as a hand with a mouse does. */
export async function drop(page: Page, ...files: string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
  }
}

/** Messages of what goes wrong in the page without being handled there, as they come. */
export function collectProblems(page: Page): string[] {
  const problems: string[] = [];
  page.on("pageerror", ({ message }) => problems.push(message));
  return problems;
}
