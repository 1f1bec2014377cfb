import { deepEqual, equal, match } from "node:assert/strict";
import { ADMIN, signIn, startHq } from "./hq_kit.ts";
import { openBrowser, startServer } from "./kit/mod.ts";

Deno.test("the link in the log makes the first user, who is an admin, and only once", async () => {
  await using server = await startServer();
  await using browser = await openBrowser();
  const line = await server.errors.waitFor("/setup?token=");
  const link = /http\S+\/setup\?token=[\w-]+/.exec(line)?.[0] ?? "";
  const page = await (await browser.newContext()).newPage();
  await page.goto(server.url);
  await page.getByText("No account exists yet").waitFor();
  await page.goto(link.replace(/token=.*/, "token=wrong"));
  await page.getByLabel("Name").fill("Ada Lovelace");
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("a long password");
  await page.getByRole("button", { name: "Create the first user" }).click();
  await page.getByRole("alert").waitFor();
  await page.goto(link);
  await page.getByLabel("Name").fill("Ada Lovelace");
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("a long password");
  await page.getByRole("button", { name: "Create the first user" }).click();
  await page.getByRole("link", { name: "Admin", exact: true }).click();
  await page.getByRole("heading", { name: "1 user" }).waitFor();
  await page.goto(link);
  equal(new URL(page.url()).pathname, "/tunnels");
});

Deno.test("a person signs up, out and in again by the keyboard alone", async () => {
  await using server = await startHq();
  await using browser = await openBrowser();
  const page = await (await browser.newContext()).newPage();
  const type = async (...texts: string[]) => {
    for (const text of texts) {
      await page.keyboard.type(text);
      await page.keyboard.press("Tab");
    }
  };
  await page.goto(`${server.url}/sign-up`);
  // The first field has the focus; behind the password comes the button that shows it.
  await type("Grace Hopper", "grace@example.com");
  await page.keyboard.type("a long password");
  await page.keyboard.press("Enter");
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  const summary = page.locator("details.menu summary");
  await summary.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Sign out" }).waitFor({ state: "hidden" });
  equal(await summary.evaluate((element) => element === document.activeElement), true);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Sign out" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("You are signed out.").waitFor();
  await type("grace@example.com");
  await page.keyboard.type("a long password");
  await page.keyboard.press("Enter");
  await page.getByRole("navigation", { name: "Main" }).waitFor();
});

Deno.test("a form that is refused comes back with what was typed and says at the field what is wrong", async () => {
  await using server = await startHq();
  await using browser = await openBrowser();
  // Without scripts too.
  for (const javaScriptEnabled of [true, false]) {
    const page = await (await browser.newContext({ javaScriptEnabled })).newPage();
    await page.goto(`${server.url}/sign-in`);
    await page.getByLabel("Email").fill(ADMIN.email);
    await page.getByLabel("Password", { exact: true }).fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The email address or the password is wrong.").waitFor();
    equal(await page.getByLabel("Email").inputValue(), ADMIN.email);
    equal(await page.getByLabel("Password", { exact: true }).inputValue(), "");
  }
});

Deno.test("who is asked to sign in goes on to the page that they came for, and never to another site", async () => {
  await using server = await startHq();
  await using browser = await openBrowser();
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${server.url}/account/tokens`);
  match(page.url(), /\/sign-in\?next=%2Faccount%2Ftokens$/);
  for (const [name, text] of Object.entries(ADMIN)) await page.locator(`[name=${name}]`).fill(text);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "New token" }).waitFor();
  for (
    const next of ["//evil.example", "/\\evil.example", "https://evil.example/", "/\t/evil.example", "javascript:1"]
  ) {
    await page.goto(`${server.url}/sign-in?next=${encodeURIComponent(next)}`);
    equal(page.url(), `${server.url}/tunnels`, next);
  }
});

Deno.test("an invitation's link lets the one invited in, and somebody else not", async () => {
  await using server = await startHq({ PORTWAY_SIGNUP: "invitation" });
  await using browser = await openBrowser();
  const page = await (await browser.newContext()).newPage();
  await signIn(page, server);
  await page.goto(`${server.url}/account`);
  await page.getByLabel("Email").fill("grace@example.com");
  await page.getByRole("button", { name: "Invite" }).click();
  const link = await page.locator("td .copy code").textContent() ?? "";
  await page.goto(link);
  await page.getByText("You are signed in as ada@example.com").waitFor();

  const other = await (await browser.newContext()).newPage();
  await other.goto(`${server.url}/sign-up`);
  await other.getByText("You need an invitation").waitFor();
  await other.goto(link);
  await other.getByRole("link", { name: "Create an account and join" }).click();
  await other.getByLabel("Name").fill("Grace Hopper");
  await other.getByLabel("Password", { exact: true }).fill("a long password");
  await other.getByRole("button", { name: "Create the account" }).click();
  await other.getByRole("navigation", { name: "Main" }).waitFor();
  await page.goto(`${server.url}/account`);
  deepEqual(await page.locator("tbody b").allTextContents(), ["ada", "Grace Hopper"]);
  await other.goto(link);
  await other.getByText("This invitation is no longer good.").waitFor();
});
