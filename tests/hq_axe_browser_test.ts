import { deepEqual } from "node:assert/strict";
import type { BrowserContextOptions, Page } from "playwright-core";
import { ADMIN, signIn, startHq } from "./hq_kit.ts";
import { findProblems, openBrowser, type Server } from "./kit/mod.ts";

/** Pages for everybody. */
const OPEN = ["/", "/sign-in", "/sign-up", "/forgot", "/reset?token=x", "/api-docs", "/nothing"];

/** Pages of somebody who has signed in, and who is an admin. */
const OWN = [
  "/tunnels/new",
  "/account",
  "/account/usage",
  "/account/clients",
  "/account/tokens",
  "/account/security",
  "/account/audit",
  "/admin",
  "/admin/tunnels",
  "/admin/usage",
  "/admin/audit",
  "/device",
  "/device?user_code=WRONG",
];

/** Goes to every page of HQ, with something on each, and calls `look`. */
async function visitPages(page: Page, server: Server, look: (state: string) => Promise<void>): Promise<void> {
  const visit = async (path: string) => {
    await page.goto(server.url + path);
    await look(path);
  };
  for (const path of OPEN) await visit(path);
  await page.goto(`${server.url}/sign-in`);
  await page.getByLabel("Email").fill(ADMIN.email);
  await page.getByLabel("Password", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await look("sign-in refused");
  await signIn(page, server);
  await look("no tunnels");
  await page.goto(`${server.url}/account`);
  await page.getByLabel("Email").fill("somebody.with.a.long.name@a-long-domain-name.example.com");
  await page.getByRole("button", { name: "Invite" }).click();
  await page.getByText("The invitation is made").waitFor();
  const invitation = await page.locator("td .copy code").textContent() ?? "";
  await page.goto(`${server.url}/account/tokens`);
  await page.getByLabel("Name").fill("ci");
  await page.getByRole("button", { name: "Create the token" }).click();
  await page.getByText("Your new token").waitFor();
  await look("a new token");
  await visitTunnel(page, server, look);
  for (const path of OWN) await visit(path);
  await page.locator("details.menu summary").click();
  await look("menu");
  await page.goto(invitation);
  await look("invitation");
}

async function visitTunnel(page: Page, server: Server, look: (state: string) => Promise<void>): Promise<void> {
  await page.goto(`${server.url}/tunnels/new`);
  await page.getByLabel("Name").fill("a-tunnel-whose-name-is-long");
  await page.getByLabel("Default port").fill("0");
  await page.getByRole("button", { name: "Create the tunnel" }).click();
  await page.getByText("A port is a number").waitFor();
  await look("tunnel refused");
  await page.getByLabel("Default port").fill("3000");
  await page.getByRole("button", { name: "Create the tunnel" }).click();
  await page.getByText("The tunnel is made").waitFor();
  await look("tunnel");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").waitFor();
  await look("delete");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Save" }).waitFor();
  await look("edit");
  await page.goto(`${server.url}/tunnels`);
  await look("tunnels");
}

const SCREENS: Readonly<Record<string, BrowserContextOptions>> = {
  "in light colours": { colorScheme: "light" },
  "in dark colours": { colorScheme: "dark" },
  "in forced colours": { forcedColors: "active" },
};

for (const [name, options] of Object.entries(SCREENS)) {
  Deno.test(`axe finds nothing serious on any page of HQ ${name}`, async () => {
    await using server = await startHq();
    await using browser = await openBrowser();
    const page = await (await browser.newContext(options)).newPage();
    const problems: string[] = [];
    await visitPages(page, server, async (state) => void problems.push(...await findProblems(page, state)));
    deepEqual(problems, []);
  });
}

for (const width of [390, 320]) {
  Deno.test(`on a phone ${width} pixels wide nothing sticks out of any page of HQ, and what is pressed is large enough`, async () => {
    await using server = await startHq();
    await using browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width, height: 700 }, isMobile: true, hasTouch: true });
    const page = await context.newPage();
    const problems: string[] = [];
    await visitPages(page, server, async (state) => {
      problems.push(...(await measure(page)).map((what) => `${state}: ${what}`));
    });
    deepEqual(problems, []);
  });
}

/** What is wider than the page, buttons that a finger misses, and menus that something else covers. */
async function measure(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const wide = [
      document.documentElement,
      ...document.querySelectorAll("main, .sections, .tabs, .panel, .table, .card, dialog[open], .sheet"),
    ]
      .filter((element) => element.scrollWidth > element.clientWidth + 1)
      .map(({ tagName, className }) => `${tagName} ${className} is too wide`);
    const small = [...document.querySelectorAll("button, .button, .primary, .sections a, summary")]
      .filter((element) => element.checkVisibility() && !element.classList.contains("link"))
      .filter((element) => element.getBoundingClientRect().height < 40)
      .map((element) => `"${element.textContent}" is too small`);
    const covered = [...document.querySelectorAll(".sheet")]
      .filter((sheet) => sheet.checkVisibility())
      .filter((sheet) => {
        const { left, right, top, bottom } = sheet.getBoundingClientRect();
        for (let y = top + 8; y < bottom; y += 8) {
          for (let x = left + 8; x < right; x += 8) if (!sheet.contains(document.elementFromPoint(x, y))) return true;
        }
        return false;
      })
      .map(({ className }) => `${className} is covered`);
    return [...wide, ...small, ...covered];
  });
}
