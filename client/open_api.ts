import process from "node:process";
import type { Connect } from "../net/connection/mod.ts";
import { OptionError } from "../common/options.ts";
import {
  type ApiClient,
  createApiClient,
  createFixedTokens,
  createStoredTokens,
  isToken,
  LoginNeeded,
  Logins,
  type TokenSource,
} from "./api/mod.ts";
import { defaultConfigDir } from "./config.ts";
import { openServerConnector, type ServerConnectorOptions } from "./server_connector.ts";

/** The variable with a token that replaces a login. */
export const TOKEN_VARIABLE = "PORTWAY_TOKEN";

/** A server's API with its connector and login. */
export interface OpenApi {
  api: ApiClient;
  connect: Connect;
  tokens: TokenSource;
  logins: Logins;
}

/**
 * Opens the API of the named server, or of the last login's server. A token in `PORTWAY_TOKEN` replaces the login.
 * @throws LoginNeeded, LoginDamaged, OptionError
 */
export async function openApi(options: ServerConnectorOptions): Promise<OpenApi> {
  const logins = openLogins(options);
  const server = options.config.server ?? logins.findLastServer();
  if (server === null) throw new LoginNeeded("this needs a login: portway --login --server <URL>");
  const connect = await openServerConnector(options);
  const token = options.env[TOKEN_VARIABLE] || null;
  if (token !== null && !isToken(token)) throw new OptionError(`${TOKEN_VARIABLE}: it is no token`);
  const tokens = token === null
    ? createStoredTokens({ server, connect, logins })
    : createFixedTokens(token, TOKEN_VARIABLE);
  return { api: createApiClient({ server, connect, tokens }), connect, tokens, logins };
}

/** Opens the logins in the client's configuration folder. */
export function openLogins({ config, env }: Pick<ServerConnectorOptions, "config" | "env">): Logins {
  return new Logins(config.configDir ?? defaultConfigDir(env, process.platform));
}
