import { Hono } from "hono";
import { HttpError } from "../../common/http_error.ts";
import type { Exchange, ExchangeEnv } from "../../net/listener/mod.ts";
import { type Principal, requireLogin } from "../access/mod.ts";
import type { ApiArea } from "../http/mod.ts";
import type { Store } from "../store/mod.ts";
import { type Identity, toAccount } from "./identify.ts";
import { ACCOUNTS_API } from "./open_api.ts";

/** The dependencies of the account routes. */
export interface AccountRoutesOptions {
  store: Pick<Store, "identities">;
  identify(exchange: Exchange): Promise<Identity | null>;
  /** Moves a credential to another account. */
  switchAccount(identity: Identity, accountId: string): Promise<void>;
}

/** Creates the routes for the caller and for switching the account. */
export function createAccountsApi({ store, identify, switchAccount }: AccountRoutesOptions): ApiArea {
  const routes = new Hono<ExchangeEnv>();

  routes.get("/api/v1/whoami", async (context) => {
    const identity = await identify(context.env.exchange);
    return context.json(await describe(store, requireLogin(identity?.principal ?? null)), 200, NO_STORE);
  });

  routes.post("/api/v1/accounts/:id/switch", async (context) => {
    const { exchange } = context.env;
    const identity = await identify(exchange);
    if (identity === null) requireLogin(null);
    else await switchAccount(identity, context.req.param("id"));
    const switched = await identify(exchange);
    return context.json(await describe(store, requireLogin(switched?.principal ?? null)), 200, NO_STORE);
  });

  return { routes, describe: ACCOUNTS_API };
}

const NO_STORE = { "cache-control": "no-store" };

async function describe({ identities }: Pick<Store, "identities">, { user, account, scopes }: Principal) {
  const accounts = (await identities.findMemberships(user.id)).map(toAccount);
  return { user, account, accounts, scopes: [...scopes] };
}

/** 403 `token_bound`: only a login can switch to another account. */
export const tokenBound = (): HttpError =>
  new HttpError(403, "token_bound", "A personal token belongs to one account.", {
    details: "Create one in the other account.",
  });
