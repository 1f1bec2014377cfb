import { OptionError } from "../../common/options.ts";
import { askLine, isAttended } from "./ask_line.ts";
import type { ActionContext } from "../action.ts";
import { type ReportingContext, withReporter } from "./with_reporter.ts";
import { clientOptions } from "../config.ts";
import { type Account, chooseAccount, fetchWhoami, NoSuchAccount, switchAccount, type Whoami } from "../login/mod.ts";
import { openApi } from "../open_api.ts";

/** Runs `--switch-account`: selects another account for the user, by name or from a list. */
export async function changeAccount(context: ActionContext): Promise<number> {
  return await withReporter(context, run);
}

async function run(options: ReportingContext): Promise<number> {
  const { config, reporter } = options;
  const { api } = await openApi(options);
  const whoami = await fetchWhoami(api);
  const isNamed = config.switchAccount !== clientOptions.switchAccount.bare;
  const chosen = isNamed ? chooseAccount(whoami.accounts, config.switchAccount ?? "") : await ask(whoami, options);
  if (chosen === null) return 0;
  const { user, account } = chosen.id === whoami.account.id ? whoami : await switchAccount(api, chosen.id);
  reporter.report("account", { server: api.server.origin, user, account }, [
    `Hello, ${user.name}! You use the account ${account.name} at ${api.server.origin} now.`,
  ]);
  return 0;
}

/** Returns null if the user chose none. */
async function ask(whoami: Whoami, { config, reporter }: ReportingContext): Promise<Account | null> {
  const { accounts, account } = whoami;
  if (config.json || !isAttended()) {
    const list = accounts.map(({ name }, at) => `${at + 1} ${name}`).join(", ");
    throw new OptionError(`--switch-account: name one, or its number, of ${list}`);
  }
  reporter.report("accounts", { accounts }, listAccounts(accounts, account));
  for (;;) {
    await reporter.flush();
    const line = (await askLine("\nNumber or name (Enter keeps it): "))?.trim();
    if (!line) return null;
    try {
      return chooseAccount(accounts, line);
    } catch (error) {
      if (!(error instanceof NoSuchAccount)) throw error;
      reporter.note(error.message);
    }
  }
}

function listAccounts(accounts: readonly Account[], current: Account): string[] {
  const width = String(accounts.length).length;
  return accounts.map(({ id, name, plan, role }, at) => {
    const mark = id === current.id ? ", in use" : "";
    return `  ${String(at + 1).padStart(width)}  ${name} (${plan}, ${role}${mark})`;
  });
}
