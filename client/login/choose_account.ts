import type { Account } from "./whoami.ts";

/** The text matches no account, or several. The message is one line for the user. */
export class NoSuchAccount extends Error {
  override name = "NoSuchAccount";
}

/**
 * Finds the account by its exact name, its ID, its list number from 1, its name in any case, or a unique prefix of its
 * name. Earlier rules win.
 * @throws NoSuchAccount
 */
export function chooseAccount(accounts: readonly Account[], given: string): Account {
  const text = given.trim(), lower = text.toLowerCase();
  const rules: ((account: Account, at: number) => boolean)[] = [
    ({ name }) => name === text,
    ({ id }) => id === text,
    (_, at) => String(at + 1) === text,
    ({ name }) => name.toLowerCase() === lower,
    ({ name }) => text !== "" && name.toLowerCase().startsWith(lower),
  ];
  for (const rule of rules) {
    const found = accounts.filter(rule);
    if (found.length === 1) return found[0];
    if (found.length > 1) {
      throw new NoSuchAccount(`"${text}" matches more than one account: ${describe(found, accounts)}`);
    }
  }
  throw new NoSuchAccount(`no account matches "${text}": ${describe(accounts, accounts)}`);
}

const describe = (some: readonly Account[], all: readonly Account[]) =>
  some.map((account) => `${all.indexOf(account) + 1} ${account.name}`).join(", ");
