/** All that a person does with an account, from the first start of a server to the figures of what was used. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { startLocalApp, waitForLocalApp } from "./kit/local_app.ts";
import {
  openBrowser,
  openSocket,
  type Program,
  type Server,
  startServer,
  startTunnel,
  visit,
  within,
} from "./kit/mod.ts";
import { type LoginClient, openLoginClient } from "./login_kit.ts";

const PASSWORD = "correct horse battery staple";

/** A browser of somebody. */
async function openPerson(browser: Browser): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext();
  return { context, page: await context.newPage() };
}

/** Makes the first user by the link in the server's log. */
async function setUp(page: Page, server: Server): Promise<void> {
  const line = await server.errors.waitFor("/setup?token=");
  await page.goto(/http\S+\/setup\?token=[\w-]+/.exec(line)?.[0] ?? "");
  await page.getByLabel("Name").fill("Ada Lovelace");
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Create the first user" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
}

async function signUp(page: Page, server: Server): Promise<void> {
  await page.goto(server.url);
  await page.getByRole("link", { name: "Sign up" }).first().click();
  await page.getByLabel("Name").fill("Grace Hopper");
  await page.getByLabel("Email").fill("grace@example.com");
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Create the account" }).click();
  await page.getByText("is on the free plan").waitFor();
}

async function signOut(page: Page): Promise<void> {
  await page.locator("details.menu summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
}

/** `portway --login`, whose browser is one that nobody has signed in with. */
async function logIn(page: Page, client: LoginClient): Promise<void> {
  await using login = client.start(["--login", "--login-port", String(client.loginPort)]);
  const { url } = await login.events.waitFor("authorize");
  await page.goto(String(url));
  await page.getByLabel("Email").fill("grace@example.com");
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  match(await page.locator(".scopes").innerText(), /open your persistent tunnels/);
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByRole("heading", { name: "Hello, Grace Hopper" }).waitFor();
  equal(new URL(page.url()).host, `localhost:${client.loginPort}`);
  equal((await within("the end of the login", login.ended)).code, 0);
}

async function givePlan(page: Page, server: Server): Promise<void> {
  await page.goto(`${server.url}/admin`);
  const row = page.getByRole("row", { name: /grace@example\.com/ });
  await row.getByRole("combobox").selectOption("paid");
  await row.getByRole("button", { name: /^Set the plan/ }).click();
  await page.getByText("The plan is changed").waitFor();
  equal(await row.getByRole("combobox").inputValue(), "paid");
}

/** @returns the tunnel's public URL */
async function createTunnel(page: Page, server: Server, { web, api }: { web: number; api: number }): Promise<string> {
  await page.goto(`${server.url}/tunnels`);
  await page.getByRole("link", { name: "Create a tunnel" }).click();
  await page.getByLabel("Name").fill("shop");
  await page.getByLabel("Default port").fill(String(web));
  await page.getByLabel("Only these").check();
  await page.getByLabel("Ports", { exact: true }).fill(`${web}, ${api}`);
  await page.getByRole("button", { name: "Create the tunnel" }).click();
  await page.getByText("The tunnel is made").waitFor();
  return await page.locator(".page-head p a").textContent() ?? "";
}

/** The app in a visitor's browser: what it got, and the hosts that it asked. */
async function visitApp(browser: Browser, url: string): Promise<{ got: string[]; hosts: string[] }> {
  const { context, page } = await openPerson(browser);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).host));
  page.on("websocket", (socket) => asked.push(new URL(socket.url()).host));
  await page.goto(url);
  const got = await waitForLocalApp(page);
  await page.locator("#second").click();
  await page.waitForURL(/second/);
  await context.close();
  return { got, hosts: [...new Set(asked)].sort() };
}

/** Switches the tunnel off while a visitor is connected. */
async function disable(page: Page, url: string, apiUrl: string, client: Program): Promise<void> {
  await using open = await openSocket(`${apiUrl}/live`);
  equal(await open.next(), "live");
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("it answers 403 from now on").waitFor();
  equal((await within("the end of the open connection", open.closed)).code, 1006);
  for (const refused of [await visit(url), await visit(apiUrl)]) {
    deepEqual([refused.status, refused.headers["portway-error"]], [403, "tunnel_disabled"]);
    await refused.text();
  }
  ok((await within("the end of the client", client.ended)).code !== 0, "the client says that it was ended");
}

Deno.test("from a server's first start to a person's tunnel: set up, sign up, log in, expose, rewrite, disable, usage", async () => {
  await using server = await startServer({ env: { PORTWAY_SIGNUP: "open" } });
  await using browser = await openBrowser();
  await using app = startLocalApp();
  await using client = await openLoginClient(server);
  const ada = await openPerson(browser), grace = await openPerson(browser);
  await setUp(ada.page, server);
  await signUp(grace.page, server);
  await signOut(grace.page);
  await logIn(grace.page, client);
  await givePlan(ada.page, server);

  const url = await createTunnel(grace.page, server, app);
  await using tunnel = await startTunnel({
    server,
    configDir: client.configDir,
    args: ["-t", "shop", "-e", String(app.web), "-e", String(app.api), "--localhost-rewrite"],
  });
  equal(new URL(tunnel.url).host, new URL(url).host);
  await grace.page.locator("#state").getByText("Live").waitFor();
  const { host, origin } = new URL(url), apiHost = host.replace(".", `--${app.api}.`);
  deepEqual(await visitApp(browser, url), { got: ["api", "api", "live"], hosts: [host, apiHost].sort() });
  await grace.page.locator("#requests").getByText("/app.js").first().waitFor();
  await disable(grace.page, origin, `${new URL(url).protocol}//${apiHost}`, tunnel);

  await grace.page.reload();
  await grace.page.getByText(/^(?!0 B)\S+ \S?B and [1-9]\d* requests in 30 days$/).waitFor();
  await grace.page.goto(`${server.url}/account/usage`);
  await grace.page.getByText(/^(?!0 B)\S+ \S?B of /).first().waitFor();
  await ada.page.goto(`${server.url}/admin/usage`);
  await ada.page.getByText(/^(?!0 B)\S+ \S?B and [1-9]\d* requests/).waitFor();
});
