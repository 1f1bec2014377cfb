/** What a person with a browser sees: the demo, and a dev server with hot reload, both through a tunnel. */
import assert from "node:assert/strict";
import { openBrowser, startProgram, startServer, startTunnel, startVite } from "./kit.ts";

Deno.test("the demo in Chromium: the page, the clock's ticks and the WebSocket's echo arrive through the tunnel", async () => {
  await using demo = startProgram({ entry: "scripts/demo.ts", args: ["--json"] });
  const { url } = await demo.events.waitFor("open");
  assert.match(String(url), /^http:\/\/[a-z0-9]{16,}\.try\.localhost:\d+$/);
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(String(url));
  assert.equal(await page.textContent("#here"), new URL(String(url)).host);
  const isTick = () => /^\d{4}-/.test(document.getElementById("clock")?.textContent ?? "");
  await page.waitForFunction(isTick);
  const first = await page.textContent("#clock");
  await page.waitForFunction((seen) => document.getElementById("clock")?.textContent !== seen, first);
  await page.waitForFunction(() => document.getElementById("echo")?.textContent === "hello");
  await page.fill("#text", "and back");
  await page.click("button");
  await page.waitForFunction(() => document.getElementById("echo")?.textContent === "and back");
  await page.close();
  demo.kill("SIGINT");
  const { requests, reason } = await demo.events.waitFor("summary");
  assert.equal(reason, "The tunnel was stopped.");
  assert(Number(requests) >= 3);
  assert.equal((await demo.ended).code, 0);
});

const PROJECT = {
  "index.html": '<!doctype html><p id="text"></p><script type="module" src="/src/main.js"></script>',
  "src/main.js": 'import { text } from "./text.js";\nimport "./style.css";\n' +
    "const show = (text) => document.getElementById('text').textContent = text;\nshow(text);\n" +
    'import.meta.hot.accept("./text.js", (changed) => show(changed.text));\n',
  "src/text.js": 'export const text = "before";\n',
  "src/style.css": "p { color: rgb(1, 2, 3) }\n",
};

Deno.test("Vite in Chromium through a tunnel: a file is edited, and the page changes without being loaded again", async () => {
  await using vite = await startVite(PROJECT);
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: vite });
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const connected = page.waitForEvent("console", (message) => message.text().includes("[vite] connected"));
  await page.goto(tunnel.url);
  await page.waitForFunction(() => document.getElementById("text")?.textContent === "before");
  await connected;
  await page.evaluate(() => document.title = "not loaded again");

  await vite.edit("src/text.js", 'export const text = "after";\n');
  await page.waitForFunction(() => document.getElementById("text")?.textContent === "after");
  await vite.edit("src/style.css", "p { color: rgb(4, 5, 6) }\n");
  await page.waitForFunction(() => getComputedStyle(document.querySelector("p")!).color === "rgb(4, 5, 6)");
  assert.equal(await page.title(), "not loaded again");

  // What needs a new page gets one, by the same WebSocket.
  await vite.edit("index.html", PROJECT["index.html"].replace("<p", "<h1>new</h1><p"));
  await page.waitForSelector("h1");
  // The script fills it in a moment later.
  await page.waitForFunction(() => document.getElementById("text")?.textContent === "after");
  await page.close();
});
