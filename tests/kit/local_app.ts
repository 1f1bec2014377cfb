import type { Page } from "playwright-core";

/** An app of two local ports, which know each other by their local addresses. */
export interface LocalApp extends AsyncDisposable {
  /** Port of its pages. */
  readonly web: number;
  /** Port of its API, over HTTP and WebSockets. */
  readonly api: number;
}

/** Starts an app whose pages link to themselves and to its API as `http://localhost:<port>`, in several writings. */
export function startLocalApp(): LocalApp {
  const origin: () => string = () => `http://localhost:${web.port}`;
  const api = startApi(origin);
  const web: Service = startWeb(() => `localhost:${api.port}`);
  return {
    web: web.port,
    api: api.port,
    async [Symbol.asyncDispose]() {
      await web[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

/** Waits until the app's page has asked its API. @returns what it got: `api`, `api` and `live` when all works */
export async function waitForLocalApp(page: Page): Promise<string[]> {
  await page.waitForFunction(() =>
    ["data", "next", "live"].every((id) => document.getElementById(id)?.textContent !== "-")
  );
  return await page.locator("p").allTextContents();
}

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
