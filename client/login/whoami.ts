import { type ApiClient, asRecord, notPortway } from "../api/mod.ts";

/** An account, as one member sees it. */
export interface Account {
  id: string;
  name: string;
  plan: string;
  role: string;
}

/** The user behind a token, and the user's accounts. */
export interface Whoami {
  user: { id: string; name: string; email: string };
  account: Account;
  accounts: Account[];
  scopes: string[];
}

/** Loads the user and accounts behind the client's token. Throws the errors of {@link ApiClient}. */
export async function fetchWhoami(api: ApiClient): Promise<Whoami> {
  return parseWhoami(api.server, await api.get("/api/v1/whoami"));
}

/**
 * Makes another account current. Throws the errors of {@link ApiClient}, such as ApiRefused 404 for a foreign account.
 */
export async function switchAccount(api: ApiClient, id: string): Promise<Whoami> {
  return parseWhoami(api.server, await api.post(`/api/v1/accounts/${encodeURIComponent(id)}/switch`));
}

function parseWhoami(server: URL, response: unknown): Whoami {
  const { user, account, accounts, scopes } = asRecord(response);
  const { id, name, email } = asRecord(user);
  const current = parseAccount(account);
  if (typeof id !== "string" || typeof name !== "string" || typeof email !== "string" || current === null) {
    throw notPortway(server);
  }
  const others = Array.isArray(accounts) ? accounts.map(parseAccount).filter((one) => one !== null) : [];
  const isText = (value: unknown) => typeof value === "string";
  return {
    user: { id, name, email },
    account: current,
    accounts: others,
    scopes: Array.isArray(scopes) ? scopes.filter(isText) : [],
  };
}

function parseAccount(value: unknown): Account | null {
  const { id, name, plan, role } = asRecord(value);
  if (typeof id !== "string" || typeof name !== "string") return null;
  return { id, name, plan: typeof plan === "string" ? plan : "", role: typeof role === "string" ? role : "" };
}
