import { type Connect, loadCaCerts, openConnector, readProxyRules } from "../net/connection/mod.ts";
import type { Logger } from "../common/log.ts";
import { nameSource } from "../common/options.ts";
import { type ClientConfig, clientOptions } from "./config.ts";
import { logConnect } from "./log_connect.ts";

/** Options for connections to the server. */
export interface ServerConnectorOptions {
  config: ClientConfig;
  env: Readonly<Record<string, string | undefined>>;
  log: Logger;
}

/**
 * Opens a connector that uses the user's proxies and trusts the user's certificates.
 * @throws OptionError for unreadable certificates
 */
export async function openServerConnector({ config, env, log }: ServerConnectorOptions): Promise<Connect> {
  const caCerts = await loadCaCerts({
    [nameSource(clientOptions, config, "caCerts")]: config.caCerts,
    NODE_EXTRA_CA_CERTS: env.NODE_EXTRA_CA_CERTS,
  });
  return logConnect(openConnector({ proxies: readProxyRules(env), caCerts }), "server", log);
}
