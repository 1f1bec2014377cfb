import { describeError } from "../../common/log.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { type ServerConfig, serverOptions } from "../config.ts";
import { openStore, parsePostgresAddress, type PostgresAddress, type Store } from "../store/mod.ts";

/** The data folder's name for a server that stores in memory only. */
export const IN_MEMORY = ":memory:";

/** Connections to PostgreSQL at a time. Transactions are short, so more connections add no speed. */
const MAX_CONNECTIONS = 10;

/** The storage options. */
export type StoreConfig = Pick<ServerConfig, "dataDir" | "databaseUrl">;

/**
 * Opens the configured store.
 * @param sharesFolder whether other servers may use the same data folder; PostgreSQL is always shared
 * @throws OptionError for an unusable database address; errors from {@link openStore}
 */
export async function openConfiguredStore(config: StoreConfig, sharesFolder: boolean): Promise<Store> {
  const { dataDir, databaseUrl } = config;
  if (databaseUrl === null) {
    return await openStore({ dataDir: dataDir === IN_MEMORY ? null : dataDir, isAlone: !sharesFolder });
  }
  return await openStore({ postgres: { address: readAddress(config, databaseUrl), maxConnections: MAX_CONNECTIONS } });
}

function readAddress(config: StoreConfig, databaseUrl: string): PostgresAddress {
  const { databaseUrl: option } = serverOptions;
  const source = nameSource(serverOptions, config, "databaseUrl");
  const address = parseAddress(source, databaseUrl);
  if (source === option.flag && address.password !== "") {
    const reason = `other users of this machine could see its password; set ${option.env}`;
    throw new OptionError(`${source}: ${reason}`);
  }
  return address;
}

function parseAddress(source: string, databaseUrl: string): PostgresAddress {
  try {
    return parsePostgresAddress(databaseUrl);
  } catch (cause) {
    throw new OptionError(`${source}: cannot use its value: ${describeError(cause)}`, { cause });
  }
}
