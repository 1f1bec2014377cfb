import { deepEqual, equal, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import fs from "node:fs";
import path from "node:path";
import { collectProblems, drop } from "./files_browser_kit.ts";
import { openFolder, startTunnel } from "./files_kit.ts";
import { openBrowser } from "./kit/mod.ts";

Deno.test("the page that only takes files sends what is dropped and chosen through a tunnel, and names what it cannot", async () => {
  using folder = openFolder();
  using source = openFolder();
  const write = (name: string, bytes: number) => {
    const file = path.join(source.path, name);
    fs.writeFileSync(file, Buffer.alloc(bytes, name));
    return file;
  };
  const [small, large, named] = [write("a.txt", 10), write("large.bin", 3_000_000), write("ü & #1?.txt", 1000)];
  await using client = await startTunnel("-fw", folder.path, "--drop", "--max-upload", "2MB");
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const problems = collectProblems(page);
  await page.goto(client.url);
  await drop(page, small, large, named);
  const row = (name: string) => page.locator("#list li", { hasText: name }).first();
  await row("a.txt").getByText("sent").waitFor();
  await row("ü & #1?.txt").getByText("sent").waitFor();
  await row("large.bin").getByText("larger than this share takes").waitFor();
  // The same name again takes nothing away from who was first.
  fs.writeFileSync(small, "another");
  await page.setInputFiles("#files", small);
  await page.getByRole("button", { name: "Send" }).click();
  await row("a.txt").getByText("sent").waitFor();
  const names = fs.readdirSync(folder.path).filter((name) => !name.startsWith(".")).sort();
  deepEqual(names, ["a (2).txt", "a.txt", "ü & #1?.txt"]);
  equal(fs.readFileSync(path.join(folder.path, "a.txt"), "utf8"), "a.txta.txt");
  equal(fs.readFileSync(path.join(folder.path, "a (2).txt"), "utf8"), "another");
  deepEqual(problems, []);
});

Deno.test("what somebody else changes in a folder shows through a tunnel without a reload", async () => {
  using folder = openFolder();
  fs.writeFileSync(path.join(folder.path, "first.txt"), "1");
  await using client = await startTunnel("-f", folder.path);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const watched = page.waitForResponse((response) => response.url().endsWith("?watch") && response.ok());
  await page.goto(client.url);
  await page.getByText("first.txt").waitFor();
  await watched;
  fs.writeFileSync(path.join(folder.path, "second.txt"), "2");
  await page.getByText("second.txt").waitFor();
  fs.rmSync(path.join(folder.path, "first.txt"));
  await page.getByText("first.txt").waitFor({ state: "detached" });
  ok(await page.getByText("second.txt").isVisible());
});
