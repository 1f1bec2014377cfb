/** An app of two local ports, which know each other by their local addresses, in a browser that is elsewhere. */
import assert from "node:assert/strict";
import { openBrowser, startNext, startServer, startTunnel } from "./kit.ts";
import { makeTunnel, startTunnelServer } from "./kit/tunnel_server.ts";
import { startLocalApp, waitForLocalApp } from "./kit/local_app.ts";

Deno.test("an app that links to itself and to its API by local addresses works from its public URL", async () => {
  await using app = startLocalApp();
  const { web, api } = app;
  await using server = await startTunnelServer();
  const ports = { defaultPort: web, allowedPorts: [web, api] };
  const { url } = await makeTunnel(server, "ann", ports);
  await using _tunnel = await startTunnel({
    server,
    args: ["-t", "app", "-e", String(web), "-e", String(api), "--localhost-rewrite"],
    env: { PORTWAY_TOKEN: "ann" },
  });
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("websocket", (socket) => asked.push(socket.url()));
  await page.goto(url);
  assert.deepEqual(await waitForLocalApp(page), ["api", "api", "live"]);
  await page.locator("#second").click();
  await page.waitForURL(/second/);
  // The browser is on this machine, where the local addresses would work too.
  const { host } = new URL(url), apiHost = host.replace(".", `--${api}.`);
  assert.deepEqual([...new Set(asked.map((url) => new URL(url).host))].sort(), [host, apiHost].sort());
  assert.equal(new URL(page.url()).searchParams.get("back"), `${url}/`);
});

const createNextPage = (name: string, next: string, counter: string) => `
import Link from "next/link";
import { headers } from "next/headers";
import { Count } from "${counter}";
export const dynamic = "force-dynamic";
export default async function Page() {
  const url = "http://" + (await headers()).get("host");
  const text = "word ".repeat(400) + "see " + url + "/picture.png";
  return <main>
    <h1>${name}</h1><Count text={text} url={url}/><a id="absolute" href={url + "/b"}>absolute</a>
    <Link id="next" href="${next}">next</Link>
  </main>;
}`;

Deno.test("Next: a page with a long text that has a link in it still comes alive, and leads on", async () => {
  await using next = await startNext({
    "app/layout.jsx": "export default function Layout({ children }) { return <html><body>{children}</body></html>; }",
    "app/page.jsx": createNextPage("first", "/b", "./count"),
    "app/b/page.jsx": createNextPage("second", "/", "../count"),
    "app/count.jsx": `"use client"; import { useState } from "react";
      export function Count({ text, url }) {
        const [count, setCount] = useState(0);
        return <button data-url={url} data-size={text.length} onClick={() => setCount(count + 1)}>{count}</button>;
      }`,
  });
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: next.port, args: ["--localhost-rewrite"] });
  await using browser = await openBrowser();
  const page = await browser.newPage();
  // Next compiles each page when it is first asked for.
  page.setDefaultTimeout(120_000);
  await page.goto(tunnel.url);
  await page.waitForFunction(() => {
    const button = document.querySelector<HTMLElement>("main button");
    button?.click();
    return Number(button?.textContent) > 0;
  });
  assert.equal(await page.locator("#absolute").getAttribute("href"), `${tunnel.url}/b`);
  assert.equal(await page.locator("main button").getAttribute("data-url"), tunnel.url);
  await page.locator("#next").click();
  await page.waitForFunction(() => document.querySelector("h1")?.textContent === "second");
  assert.equal(await page.locator("main button").getAttribute("data-url"), tunnel.url);
});
