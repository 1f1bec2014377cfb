import { deepEqual, equal, match } from "node:assert/strict";
import type { Page } from "playwright-core";
import { openPage, signIn, startHq } from "./hq_kit.ts";
import { openBrowser, type Server, startSite, startTunnel, visit } from "./kit/mod.ts";

/** Makes a tunnel by its form. @returns its public URL */
async function createTunnel(page: Page, server: Server, port: number): Promise<string> {
  await page.goto(`${server.url}/tunnels`);
  await page.getByRole("link", { name: "Create a tunnel" }).click();
  await page.getByLabel("Name").fill("shop");
  await page.getByLabel("Default port").fill(String(port));
  await page.getByRole("button", { name: "Create the tunnel" }).click();
  await page.getByText("The tunnel is made").waitFor();
  return await page.locator(".page-head p a").textContent() ?? "";
}

/** Makes a token by its form. */
async function createToken(page: Page, server: Server): Promise<string> {
  await page.goto(`${server.url}/account/tokens`);
  await page.getByLabel("Name").fill("this test");
  await page.getByRole("button", { name: "Create the token" }).click();
  return await page.locator(".notice code").textContent() ?? "";
}

Deno.test("a tunnel is made in HQ, carried by a client, watched, disabled and deleted", async () => {
  await using server = await startHq();
  await using browser = await openBrowser();
  await using site = startSite();
  const page = await (await browser.newContext()).newPage();
  await signIn(page, server);
  const token = await createToken(page, server);
  const url = await createTunnel(page, server, site.port);
  const tunnelPage = page.url();
  await page.locator("#state").getByText("Offline").waitFor();

  await using client = await startTunnel({ server, args: ["-t", "shop"], env: { PORTWAY_TOKEN: token } });
  equal(new URL(client.url).host, new URL(url).host);
  // The page looks again by itself.
  await page.locator("#state").getByText("Live").waitFor();
  equal(await (await visit(`${new URL(url).origin}/text`)).text(), "hello");
  await page.locator("#requests").getByText("/text").waitFor();
  await page.getByText(/^port \d+ since/).waitFor();

  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("it answers 403 from now on").waitFor();
  const refused = await visit(`${new URL(url).origin}/text`);
  deepEqual([refused.status, refused.headers["portway-error"]], [403, "tunnel_disabled"]);
  await refused.text();
  await page.locator("#state").getByText("Disabled").waitFor();

  await page.goto(tunnelPage);
  await page.getByText(/^(?!0 B)\S+ \S?B and \d+ requests in 30 days$/).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the tunnel" }).click();
  await page.getByText("The tunnel is deleted").waitFor();
  equal((await visit(url)).status, 404);
  equal((await openPage(tunnelPage)).status, 303);
});

Deno.test("an admin suspends a tunnel and its visitors get 403 at once; lifted, it goes on", async () => {
  await using server = await startHq();
  await using browser = await openBrowser();
  await using site = startSite();
  const page = await (await browser.newContext()).newPage();
  await signIn(page, server);
  const token = await createToken(page, server);
  const url = await createTunnel(page, server, site.port);
  await using _client = await startTunnel({ server, args: ["-t", "shop"], env: { PORTWAY_TOKEN: token } });
  await page.goto(`${server.url}/admin/tunnels`);
  await page.getByRole("button", { name: "Suspend shop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
  await page.getByText("The tunnel is suspended").waitFor();
  equal((await visit(url)).status, 403);
  await page.getByRole("button", { name: "Allow again: shop" }).click();
  await page.getByText("The tunnel may be used again").waitFor();
  await page.goto(`${server.url}/admin/audit`);
  deepEqual((await page.locator("tbody td:first-child").allTextContents()).slice(0, 2), [
    "Tunnel restored",
    "Tunnel suspended",
  ]);
});

Deno.test("a page behind a tunnel cannot read, frame or post to HQ with its visitor's session", async () => {
  await using server = await startHq();
  await using browser = await openBrowser();
  const context = await browser.newContext();
  const page = await context.newPage();
  await signIn(page, server);
  await using service = startEvilPage(server.url);
  await using tunnel = await startTunnel({ server, target: service.port });
  await page.goto(tunnel.url);
  await page.getByText("tried: ").waitFor();
  const tried: Record<string, string> = JSON.parse((await page.locator("#tried").textContent() ?? "").slice(7));
  deepEqual(tried, { read: "refused", api: "refused", post: "refused", frame: "nothing seen" });
  await page.goto(tunnel.url);
  await page.getByRole("button", { name: "Win" }).click();
  await page.waitForURL(`${server.url}/tunnels`);
  match(await page.locator("main").textContent() ?? "", /does not come from a page of this server/);
  await page.goto(`${server.url}/tunnels`);
  await page.getByText("No tunnels yet").waitFor();
});

/** A page that tries all it can against HQ, and then tells what it got. */
function startEvilPage(hq: string): AsyncDisposable & { port: number } {
  const html = `<!doctype html><p id="tried"></p>
<form method="post" action="${hq}/tunnels"><input name="name" value="evil"><input name="defaultPort" value="80">
<button>Win</button></form>
<script type="module">
const attempt = async (path, init) => {
  try { return (await (await fetch("${hq}" + path, { credentials: "include", ...init })).text()).length + " bytes"; }
  catch { return "refused"; }
};
const form = new URLSearchParams({ name: "evil", defaultPort: "80" });
const tried = {
  read: await attempt("/tunnels"),
  api: await attempt("/api/v1/whoami"),
  post: await attempt("/tunnels", { method: "POST", body: form }),
};
const frame = document.createElement("iframe");
frame.src = "${hq}/tunnels";
// Until it has loaded, its document is an empty one of this very page.
const loaded = new Promise((resolve) => frame.onload = resolve);
document.body.append(frame);
await loaded;
try { tried.frame = frames[0].document.body.textContent; } catch { tried.frame = "nothing seen"; }
document.querySelector("#tried").textContent = "tried: " + JSON.stringify(tried);
</script>`;
  const abort = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", signal: abort.signal, onListen: () => {} },
    () => new Response(html, { headers: { "content-type": "text/html" } }),
  );
  return {
    port: server.addr.port,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await server.finished;
    },
  };
}
