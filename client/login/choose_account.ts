import type { Account } from "./whoami.ts";

/** No account, or more than one, goes by what was given. The message is a line for the user. */
export class NoSuchAccount extends Error {
  override name = "NoSuchAccount";
}

/**
 * The account that the user means: by its whole name, its id, its number in the list from 1, or by a part of its name
 * that no other one begins with; capitals do not matter where they leave no doubt.
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
    if (found.length > 1) throw new NoSuchAccount(`"${text}" is more than one account: ${describe(found, accounts)}`);
  }
  throw new NoSuchAccount(`there is no account "${text}" of yours: ${describe(accounts, accounts)}`);
}

const describe = (some: readonly Account[], all: readonly Account[]) =>
  some.map((account) => `${all.indexOf(account) + 1} ${account.name}`).join(", ");
