import type { ActionContext } from "../action.ts";
import { type TellingContext, withTeller } from "./with_teller.ts";
import { fetchWhoami, type Whoami } from "../login/mod.ts";
import { openApi } from "../open_api.ts";
import { alignFields, type Teller } from "../terminal/mod.ts";

/** Runs `--whoami`: shows the user, the server and the account. */
export async function showWhoami(context: ActionContext): Promise<number> {
  return await withTeller(context, run);
}

async function run(options: TellingContext): Promise<number> {
  const { api } = await openApi(options);
  tellWhoami(options.teller, api.server, await fetchWhoami(api), "whoami");
  return 0;
}

/** Shows a user's identity at a server. */
function tellWhoami(teller: Teller, server: URL, whoami: Whoami, event: string): void {
  const { user, account, accounts, scopes } = whoami;
  const others = accounts.filter(({ id }) => id !== account.id).map(({ name }) => name);
  teller.tell(
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
