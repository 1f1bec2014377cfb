import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { openBrowser, type Program, within } from "./kit.ts";
import { type LoginServer, signIn, startLoginServer } from "./login_kit.ts";

/** A test with a server, its client, and a page of a browser. */
function withLogin(name: string, test: (made: LoginServer, page: Page) => Promise<void>): void {
  Deno.test(name, async () => {
    await using made = await startLoginServer();
    await using browser = await openBrowser();
    await test(made, await browser.newPage());
  });
}

const end = async (program: Program) => (await within("the end of the client", program.ended)).code;

withLogin("a login goes through sign-in and the authorise screen to a greeting in both places", async (made, page) => {
  await using login = made.start(["--login", "--login-port", String(made.loginPort)]);
  const { url } = await login.events.waitFor("authorize");
  await page.goto(String(url));
  assert.equal(await made.readOpened(), url);
  await signIn(page);
  await page.getByRole("heading", { name: /Authorize/ }).waitFor();
  const asked = await page.locator(".scopes").innerText();
  assert.match(asked, /open your persistent tunnels/);
  await page.getByRole("button", { name: "Authorize" }).click();
  const greeting = page.getByRole("heading", { name: /^Hello, / });
  await greeting.waitFor();
  assert.equal(new URL(page.url()).host, `localhost:${made.loginPort}`);
  assert.equal(await page.evaluate(() => document.scripts.length), 0);
  const told = await login.events.waitFor("login");
  assert.equal(await end(login), 0);
  const user = told.user as { name: string }, account = told.account as { name: string };
  assert.equal(await greeting.innerText(), `Hello, ${user.name}`);
  assert.match(await page.locator("main").innerText(), new RegExp(`account ${account.name}`));

  await using whoami = made.start(["--whoami"]);
  const me = await whoami.events.waitFor("whoami");
  assert.deepEqual([me.user, me.account], [told.user, told.account]);
  assert.deepEqual(me.scopes, ["tunnels:use", "views:read", "views:write"]);

  await using logout = made.start(["--logout"]);
  const ended = await logout.events.waitFor("logout");
  assert.equal(ended.end, "revoked", String(ended.reason));
  await using nobody = made.start(["--whoami"]);
  await nobody.errors.waitFor(/this needs a login at .*: portway --login/);
  assert.equal(await end(nobody), 1);
});

withLogin("a login that is denied is told as such, with exit code 1", async (made, page) => {
  await using login = made.start(["--login", "--login-port", String(made.loginPort)]);
  const { url } = await login.events.waitFor("authorize");
  await page.goto(String(url));
  await signIn(page);
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByRole("heading", { name: "Not authorized" }).waitFor();
  await login.errors.waitFor("portway: the login was denied in the browser");
  assert.equal(await end(login), 1);
});

withLogin("a login by code is entered on the device page, and goes on by itself", async (made, page) => {
  await using login = made.start(["--login", "--no-browser"]);
  const { page: where, userCode } = await login.events.waitFor("code");
  await page.goto(String(where));
  await signIn(page);
  await page.getByLabel("Code").fill(String(userCode));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByRole("heading", { name: "Device connected" }).waitFor();
  await login.events.waitFor("login");
  assert.equal(await end(login), 0);
});

withLogin("a login by code that is denied is told as such", async (made, page) => {
  await using login = made.start(["--login", "--no-browser"]);
  const { pageWithCode } = await login.events.waitFor("code");
  await page.goto(String(pageWithCode));
  await signIn(page);
  await page.getByRole("button", { name: "Deny" }).click();
  await login.errors.waitFor("portway: the login was denied in the browser");
  assert.equal(await end(login), 1);
});
