import { describeError } from "../../common/log.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { type ServerConfig, serverOptions } from "../config.ts";
import { openStore, parsePostgresAddress, type PostgresAddress, type Store } from "../store/mod.ts";

/** The data folder of a server that keeps nothing. */
export const IN_MEMORY = ":memory:";

/** Connections to PostgreSQL at a time. Transactions are short, so more of them gain nothing. */
const MAX_CONNECTIONS = 10;

/** What of the configuration says where things are kept. */
export type StoreConfig = Pick<ServerConfig, "dataDir" | "databaseUrl">;

/**
 * Opens the store that the configuration names.
 * @param sharesFolder whether others may have the same data folder meanwhile; a PostgreSQL is always shared
 * @throws OptionError when the address of a database is of no use, and what {@link openStore} throws
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
    const reason = `everybody on this machine could see its password: give it as ${option.env}`;
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
