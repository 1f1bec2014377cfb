import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { makeTempDir, type Program, type Server, startProgram, startServer } from "./kit.ts";

/** The first user of a server, an admin. */
export const USER = { email: "ada@a.example", password: "correct horse battery staple" };

/** A client that is logged in to nothing yet. */
export interface LoginClient extends AsyncDisposable {
  readonly configDir: string;
  /** Of this machine, for the browser to come back to. */
  readonly loginPort: number;
  /**
   * Starts the client at its server, with `--json`. It has a browser to open, which does nothing but keep what it was
   * asked for: the test's own goes there.
   */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Program;
  /** What that browser was asked for last. */
  readOpened(): Promise<string>;
}

/** The real server with {@link USER}, and a client. */
export interface LoginServer extends LoginClient {
  readonly server: Server;
}

export async function startLoginServer(args: readonly string[] = []): Promise<LoginServer> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    await startServer({
      args: ["--default-plan", "paid", ...args],
      env: { PORTWAY_ADMIN_EMAIL: USER.email, PORTWAY_ADMIN_PASSWORD: USER.password },
    }),
  );
  const client = stack.use(await openLoginClient(server));
  const owned = stack.move();
  return { ...client, server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Makes a machine's client for a server. */
export async function openLoginClient(server: Server): Promise<LoginClient> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTempDir()).path;
  const configDir = join(folder, "config"), bin = join(folder, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > ${folder}/opened\n`);
  await chmod(join(bin, "xdg-open"), 0o755);
  const loginPort = await findFreePort();
  const owned = stack.move();
  return {
    configDir,
    loginPort,
    start: (args, env) =>
      startProgram({
        entry: "cli.ts",
        args: [...args, "--json", "--config-dir", configDir, "--server", server.url],
        env: { DISPLAY: ":0", SSH_CONNECTION: "", SSH_TTY: "", PATH: `${bin}:${Deno.env.get("PATH")}`, ...env },
      }),
    readOpened: () => Deno.readTextFile(join(folder, "opened")),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** Signs {@link USER} in on the page that a login led to. */
export async function signIn(page: Page): Promise<void> {
  await page.getByLabel("Email").fill(USER.email);
  await page.getByLabel("Password", { exact: true }).fill(USER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
}
