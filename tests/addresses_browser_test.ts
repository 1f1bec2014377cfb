/**
 * Frameworks that look at where a request says it comes from, and answer with their own address: in a browser, under a
 * name that is not localhost.
 */
import assert from "node:assert/strict";
import {
  isThere,
  openBrowser,
  startNext,
  startNginxServer,
  startPythonApp,
  startServer,
  startTunnel,
  startVite,
} from "./kit.ts";

/** The public side: a server whose tunnels are below a real domain, a tunnel to `port`, and a page in Chromium. */
async function open(port: number) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startServer({ args: ["--tunnel-domains", "try.example.test"] }));
  const tunnel = stack.use(await startTunnel({ server, target: port }));
  assert.match(tunnel.url, /\.try\.example\.test:\d+$/);
  const browser = stack.use(await openBrowser());
  const page = await browser.newPage();
  const owned = stack.move();
  return { url: tunnel.url, page, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const DJANGO = `
import sys
from django.conf import settings
settings.configure(DEBUG=True, SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=[],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"])
from django.http import HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import path
def form(request):
    if request.method == "POST":
        return HttpResponseRedirect(request.build_absolute_uri("/done?name=" + request.POST["name"]))
    return HttpResponse('<form method=post><input type=hidden name=csrfmiddlewaretoken value="%s">'
        '<input name=name value=ada><button>Send</button></form>' % get_token(request))
def done(request): return HttpResponse("<p id=done>thanks, %s</p>" % request.GET["name"])
urlpatterns = [path("form", form), path("done", done)]
from django.core.wsgi import get_wsgi_application
from wsgiref.simple_server import make_server
server = make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application())
print("ready")
server.serve_forever()
`;

Deno.test({
  name: "Django: a form with its CSRF check is sent, and its absolute redirect stays on the public URL",
  ignore: !await isThere("python3", ["-c", "import django"], "the test of Django"),
  async fn() {
    await using django = await startPythonApp(DJANGO);
    await using visitor = await open(django.port);
    const { page, url } = visitor;
    await page.goto(`${url}/form`);
    await page.click("button");
    await page.waitForSelector("#done");
    assert.equal(await page.textContent("#done"), "thanks, ada");
    assert.equal(page.url(), `${url}/done?name=ada`);
  },
});

const FLASK = `
import sys
from flask import Flask, redirect, session, url_for
app = Flask(__name__)
app.secret_key = "x"
app.config["SESSION_COOKIE_DOMAIN"] = "localhost"
@app.get("/start")
def start():
    session["seen"] = "yes"
    return redirect(url_for("done", _external=True))
@app.get("/done")
def done(): return "<p id=done>%s</p>" % session.get("seen", "no")
from wsgiref.simple_server import make_server
server = make_server("127.0.0.1", int(sys.argv[1]), app)
print("ready")
server.serve_forever()
`;

Deno.test({
  name: "Flask: a redirect to its own address, and a cookie of its own domain, hold on the public URL",
  ignore: !await isThere("python3", ["-c", "import flask"], "the test of Flask"),
  async fn() {
    await using flask = await startPythonApp(FLASK);
    await using visitor = await open(flask.port);
    const { page, url } = visitor;
    await page.goto(`${url}/start`);
    assert.equal(page.url(), `${url}/done`);
    assert.equal(await page.textContent("#done"), "yes");
  },
});

Deno.test({
  name: "nginx: its redirects, absolute with its own port, stay on the public URL",
  ignore: !await isThere("nginx", ["-v"], "the test of nginx"),
  async fn() {
    await using nginx = await startNginxServer("location = /go { return 302 /folder/; }");
    await using visitor = await open(nginx.port);
    const { page, url } = visitor;
    for (const path of ["/go", "/folder"]) {
      await page.goto(`${url}${path}`);
      assert.equal(page.url(), `${url}/folder/`);
      assert.equal(await page.textContent("p"), "in the folder");
    }
  },
});

const VITE_PROJECT = {
  "index.html": '<!doctype html><p id="text"></p><script type="module" src="/src/main.js"></script>',
  "src/main.js": 'import { text } from "./text.js";\n' +
    "const show = (text) => document.getElementById('text').textContent = text;\nshow(text);\n" +
    'import.meta.hot.accept("./text.js", (changed) => show(changed.text));\n',
  "src/text.js": 'export const text = "before";\n',
};

Deno.test("Vite: its page loads and changes as its files do", async () => {
  await using vite = await startVite(VITE_PROJECT);
  await using visitor = await open(vite.port);
  const { page, url } = visitor;
  const connected = page.waitForEvent("console", (message) => message.text().includes("[vite] connected"));
  await page.goto(url);
  await page.waitForFunction(() => document.getElementById("text")?.textContent === "before");
  await connected;
  await vite.edit("src/text.js", 'export const text = "after";\n');
  await page.waitForFunction(() => document.getElementById("text")?.textContent === "after");
});

const NEXT_PROJECT = {
  "app/layout.js": "export default function Layout({ children }) { return <html><body>{children}</body></html>; }\n",
  "app/page.js": `import { redirect } from "next/navigation";
import { Counter } from "./counter.js";
async function send(form) { "use server"; redirect("/?name=" + form.get("name")); }
export default async function Page({ searchParams }) {
  const { name } = await searchParams;
  return <main><Counter /><p id="name">{name}</p>
    <form action={send}><input name="name" defaultValue="ada" /><button id="send">Send</button></form></main>;
}
`,
  "app/counter.js": `"use client";
import { useState } from "react";
export function Counter() {
  const [count, setCount] = useState(0);
  return <button id="count" onClick={() => setCount(count + 1)}>before {count}</button>;
}
`,
};

Deno.test("Next: its page hydrates, changes as its files do, and a server action is not taken for a foreign one", async () => {
  await using next = await startNext(NEXT_PROJECT);
  await using visitor = await open(next.port);
  const { page, url } = visitor;
  // A change before Next has heard what the page subscribes to is answered with a reload, which counts from 0.
  const isSubscribed = (frame: { payload: string | Uint8Array }) => String(frame.payload).includes("client-success");
  const subscribed = page.waitForEvent("websocket").then((hmr) => hmr.waitForEvent("framesent", isSubscribed));
  await Promise.all([subscribed, page.goto(url)]);
  await page.waitForFunction(() => {
    const button = document.getElementById("count");
    button?.click();
    return /before [1-9]/.test(button?.textContent ?? "");
  });
  await next.edit("app/counter.js", NEXT_PROJECT["app/counter.js"].replace("before", "after"));
  // Hot: what was counted is still there.
  await page.waitForFunction(() => /after [1-9]/.test(document.getElementById("count")?.textContent ?? ""));
  await page.click("#send");
  await page.waitForFunction(() => document.getElementById("name")?.textContent === "ada");
  assert.equal(page.url(), `${url}/?name=ada`);
});
