import type { ActionContext } from "../action.ts";
import { type ReportingContext, withReporter } from "./with_reporter.ts";
import { fetchWhoami, type Whoami } from "../login/mod.ts";
import { openApi } from "../open_api.ts";
import { alignFields, type Reporter } from "../terminal/mod.ts";

/** Runs `--whoami`: shows the user, the server and the account. */
export async function showWhoami(context: ActionContext): Promise<number> {
  return await withReporter(context, run);
}

async function run(options: ReportingContext): Promise<number> {
  const { api } = await openApi(options);
  reportWhoami(options.reporter, api.server, await fetchWhoami(api), "whoami");
  return 0;
}

/** Shows a user's identity at a server. */
function reportWhoami(reporter: Reporter, server: URL, whoami: Whoami, event: string): void {
  const { user, account, accounts, scopes } = whoami;
  const others = accounts.filter(({ id }) => id !== account.id).map(({ name }) => name);
  reporter.report(
    event,
    { server: server.origin, ...whoami },
    alignFields([
      ["User", `${user.name} <${user.email}>`],
      ["Account", `${account.name} (${[account.plan, account.role].filter((word) => word !== "").join(", ")})`],
      ...(others.length === 0 ? [] : [["Other accounts", others.join(", ")] as const]),
      ["May", scopes.join(" ")],
      ["Server", server.origin],
    ]),
  );
}
