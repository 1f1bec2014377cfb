import type { Page } from "playwright-core";
import { type Server, startServer, visit, type VisitInit } from "./kit/mod.ts";

/** What a browser says that it takes. */
const PAGE = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

/** An answer with its text. */
export interface Answer {
  status: number;
  text: string;
  /** A header field; "" when it is not there. */
  header(name: string): string;
}

/** Asks for a URL as a browser does for a page, unless `init` says otherwise. */
export async function openPage(url: string, init: VisitInit = {}): Promise<Answer> {
  const answer = await visit(url, { ...init, headers: { ...PAGE, ...init.headers } });
  return { status: answer.status, text: await answer.text(), header: (name) => String(answer.headers[name] ?? "") };
}

/** The first user of {@link startHq}, who is an admin. */
export const ADMIN = { email: "ada@example.com", password: "correct horse battery" };

/** A server with one admin, at which anybody may sign up and has a paid plan. */
export async function startHq(env: Readonly<Record<string, string>> = {}): Promise<Server> {
  return await startServer({
    env: {
      PORTWAY_ADMIN_EMAIL: ADMIN.email,
      PORTWAY_ADMIN_PASSWORD: ADMIN.password,
      PORTWAY_SIGNUP: "open",
      PORTWAY_DEFAULT_PLAN: "paid",
      ...env,
    },
  });
}

/** Signs in by the form. */
export async function signIn(page: Page, server: Server, who = ADMIN): Promise<void> {
  await page.goto(`${server.url}/sign-in`);
  await page.getByLabel("Email").fill(who.email);
  await page.getByLabel("Password", { exact: true }).fill(who.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
}

/** Posts a form as HQ's own page would, with the cookies of somebody who has signed in. */
export async function postForm(
  server: Server,
  path: string,
  cookie: string,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return await openPage(server.url + path, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "origin": server.url,
      ...(cookie !== "" && { cookie }),
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  });
}

/** Signs in without a browser. @returns the Cookie field to send */
export async function signInByForm(server: Server, who = ADMIN): Promise<string> {
  const { header } = await postForm(server, "/sign-in", "", who);
  return readCookies(header("set-cookie"));
}

/** Makes a user without a browser. @returns the Cookie field to send */
export async function signUpByForm(server: Server, name: string): Promise<string> {
  const email = `${name.toLowerCase()}@example.com`;
  const { header } = await postForm(server, "/sign-up", "", { name, email, password: `${name} has a password` });
  return readCookies(header("set-cookie"));
}

function readCookies(fields: string): string {
  return fields.split(/,(?=[\w.-]+=)/).map((field) => field.split(";")[0]).join("; ");
}
