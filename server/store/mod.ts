export { openStore, type StoreOptions } from "./open.ts";
export { parsePostgresAddress, type PostgresAddress } from "./postgres_address.ts";
export { LabelTaken, StoreUnavailable } from "./errors.ts";
export type { Database, Dialect } from "./schema/mod.ts";
export type { Store } from "./types.ts";
// Tunnels
export type { EphemeralTunnel, EphemeralTunnels, Traffic } from "./ephemeral_tunnels.ts";
// Accounts
// Captures
