/** An app of two local ports, which know each other by their local addresses, in a browser that is elsewhere. */
import assert from "node:assert/strict";
import { openBrowser, startNext, startServer, startTunnel } from "./kit.ts";
import { makeTunnel, startTunnelServer } from "./kit/tunnel_server.ts";

interface Service extends AsyncDisposable {
  readonly port: number;
}

function serve(handle: (request: Request, self: string) => Response | Promise<Response>): Service {
  const handler: Deno.ServeHandler<Deno.NetAddr> = (request) => handle(request, `localhost:${server.addr.port}`);
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    handler,
  );
  return { port: server.addr.port, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** An API that one page may read: that of the web port, by its local origin. */
function startApi(origin: () => string): Service {
  return serve((request, self) => {
    if (request.headers.get("upgrade") === "websocket") return greet(request);
    const isKnown = request.headers.get("origin") === origin();
    return Response.json({ who: "api", next: `http://${self}/data?page=2` }, {
      headers: isKnown ? { "access-control-allow-origin": origin() } : {},
    });
  });
}

function greet(request: Request): Response {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onopen = () => socket.send("live");
  return response;
}

const createPage = (web: string, api: string) =>
  `<!doctype html><html><head>
<link rel="stylesheet" href="http://${web}/app.css"><script src="//${web}/app.js" defer></script></head>
<body data-api="http:\\/\\/${api}"><p id="data">-</p><p id="next">-</p><p id="live">-</p>
<a id="second" href="http://${web}/second?back=http%3A%2F%2Flocalhost%3A${
    web.split(":")[1]
  }%2F">second</a></body></html>`;

const createScript = (api: string) => `
const show = (id, text) => document.getElementById(id).textContent = text;
const load = async (id, url) => { const found = await (await fetch(url)).json(); show(id, found.who); return found.next; };
load("data", "http://${api}/data").then((next) => load("next", next)).catch((error) => show("data", String(error)));
new WebSocket("ws://${api}/live").onmessage = ({ data }) => show("live", data);
`;

function startWeb(api: () => string): Service {
  return serve((request, self) => {
    switch (new URL(request.url).pathname) {
      case "/app.css":
        return new Response(`body { background: url("http://${self}/dot.svg") }`, {
          headers: { "content-type": "text/css" },
        });
      case "/app.js":
        return new Response(createScript(api()), { headers: { "content-type": "text/javascript" } });
      case "/dot.svg":
        return new Response('<svg xmlns="http://www.w3.org/2000/svg"/>', {
          headers: { "content-type": "image/svg+xml" },
        });
      default:
        return new Response(createPage(self, api()), {
          headers: {
            "content-type": "text/html",
            "content-security-policy": `default-src http://${self}; connect-src http://${api()} ws://${api()}`,
          },
        });
    }
  });
}

Deno.test("an app that links to itself and to its API by local addresses works from its public URL", async () => {
  let webPort = 0;
  await using api = startApi(() => `http://localhost:${webPort}`);
  await using web = startWeb(() => `localhost:${api.port}`);
  webPort = web.port;
  await using server = await startTunnelServer();
  const ports = { defaultPort: web.port, allowedPorts: [web.port, api.port] };
  const { url } = await makeTunnel(server, "ann", ports);
  await using _tunnel = await startTunnel({
    server,
    args: ["-t", "app", "-e", String(web.port), "-e", String(api.port), "--localhost-rewrite"],
    env: { PORTWAY_TOKEN: "ann" },
  });
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("websocket", (socket) => asked.push(socket.url()));
  await page.goto(url);
  await page.waitForFunction(() =>
    ["data", "next", "live"].every((id) => document.getElementById(id)?.textContent !== "-")
  );
  const texts = await page.locator("p").allTextContents();
  assert.deepEqual(texts, ["api", "api", "live"]);
  await page.locator("#second").click();
  await page.waitForURL(/second/);
  // The browser is on this machine, where the local addresses would work too.
  const { host } = new URL(url), apiHost = host.replace(".", `--${api.port}.`);
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
