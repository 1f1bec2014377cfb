import process from "node:process";
import { text } from "node:stream/consumers";
import { formatTime } from "../../common/format.ts";
import { isLoopbackHost } from "../../common/loopback.ts";
import { OptionError } from "../../common/options.ts";
import { listenForStop } from "../../common/stop_signal.ts";
import { ApiUnreachable, isToken } from "../api/mod.ts";
import { askSecret } from "../ask_secret.ts";
import type { ActionContext } from "../action.ts";
import { type ReportingContext, withReporter } from "./with_reporter.ts";
import { CommandError } from "../command_error.ts";
import { type DeviceCode, logIn, LoginFailed, logInWithToken, type Whoami } from "../login/mod.ts";
import { openLogins, TOKEN_VARIABLE } from "../open_api.ts";
import { openServerConnector } from "../server_connector.ts";
import type { Reporter } from "../terminal/mod.ts";

const STOPPED = 1;

/** Runs `--login`: authorizes this machine for a user. */
export async function startLogin(context: ActionContext): Promise<number> {
  return await withReporter(context, run);
}

async function run(options: ReportingContext): Promise<number> {
  const { config, env, reporter } = options;
  const logins = openLogins(options);
  const server = config.server ?? logins.findLastServer();
  if (config.token && config.noBrowser) throw new OptionError("--no-browser: --token opens no browser anyway");
  if (server === null) throw new OptionError("--login: name the server to log in to, with --server <URL>");
  warnOfPlainHttp(server, reporter);
  const connect = await openServerConnector(options);
  if (config.token) {
    const whoami = await logInWithToken({ server, connect, logins }, await readToken());
    return greet(whoami, server, options);
  }
  const stop = listenForStop();
  try {
    const whoami = await logIn({
      server,
      connect,
      logins,
      env,
      port: config.loginPort,
      isBrowserWanted: !config.noBrowser,
      signal: stop.signal,
      onPage: (url) => tellPage(reporter, url),
      onCode: (code) => tellCode(reporter, code),
      note: reporter.note,
    });
    return greet(whoami, server, options);
  } catch (error) {
    if (stop.signal.aborted && (error instanceof LoginFailed || error instanceof ApiUnreachable)) return STOPPED;
    throw error;
  } finally {
    stop.release();
  }
}

function tellPage(reporter: Reporter, url: string): void {
  reporter.report("authorize", { url }, [
    "Your browser opens to log in. If it does not, open this address on this machine:",
    "",
    `  ${url}`,
    "",
  ]);
}

function tellCode(reporter: Reporter, { page, pageWithCode, userCode, expiresAt }: DeviceCode): void {
  const fields = { page, pageWithCode, userCode, expiresAt: new Date(expiresAt).toISOString() };
  reporter.report("code", fields, [
    `To log in, open ${page} in any browser and enter the code`,
    "",
    `  ${userCode}`,
    "",
    ...(pageWithCode === null ? [] : [`or open ${pageWithCode}`]),
    `The code works until ${formatTime(new Date(expiresAt))}. Waiting for you; Ctrl+C gives up.`,
  ]);
}

function greet({ user, account, scopes }: Whoami, server: URL, { env, reporter }: ReportingContext): number {
  reporter.report("login", { server: server.origin, user, account, scopes }, [
    `Hello, ${user.name}! You are logged in to the account ${account.name} at ${server.origin}.`,
  ]);
  if (env[TOKEN_VARIABLE]) reporter.note(`${TOKEN_VARIABLE} is set, and is used in place of this login.`);
  return 0;
}

function warnOfPlainHttp({ protocol, hostname, origin }: URL, reporter: Reporter): void {
  if (protocol === "https:" || isLoopbackHost(hostname)) return;
  reporter.note(`${origin} is not encrypted: everyone on the way to it can use this login.`);
}

/** Reads a token from the terminal, or from a pipe. */
async function readToken(): Promise<string> {
  const given = process.stdin.isTTY ? await askSecret("Token: ") : await text(process.stdin);
  const token = given.trim();
  if (token === "") throw new CommandError("no token was given: paste it, or pipe it in");
  if (!isToken(token)) throw new CommandError("this is no token: one line of letters, digits and signs is wanted");
  return token;
}
