import type { ActionContext } from "../action.ts";
import { type ReportingContext, withReporter } from "./with_reporter.ts";
import { logOut } from "../login/mod.ts";
import { openLogins, TOKEN_VARIABLE } from "../open_api.ts";
import { openServerConnector } from "../server_connector.ts";

/** Runs `--logout`: ends the login at the server and deletes it here. */
export async function endLogin(context: ActionContext): Promise<number> {
  return await withReporter(context, run);
}

async function run(options: ReportingContext): Promise<number> {
  const { config, env, reporter } = options;
  const logins = openLogins(options);
  const server = config.server ?? logins.findLastServer();
  if (server === null) {
    reporter.report("logout", { server: null, end: "none" }, ["You are not logged in anywhere."]);
    return 0;
  }
  const ended = await logOut({ server, connect: await openServerConnector(options), logins });
  const { origin } = server;
  const lines = {
    none: `You are not logged in at ${origin}.`,
    revoked: `You are logged out of ${origin}.`,
    kept: `The token for ${origin} is forgotten here. It works until it is revoked on the server's site.`,
    not_told: `The login at ${origin} was deleted here, but the server could not be notified` +
      (ended.end === "not_told" ? `: ${ended.reason}. Revoke it on the server's site.` : "."),
  };
  reporter.report("logout", { server: origin, ...ended }, [lines[ended.end]]);
  if (env[TOKEN_VARIABLE]) reporter.note(`${TOKEN_VARIABLE} is still set, and is used in place of a login.`);
  return ended.end === "not_told" ? 1 : 0;
}
