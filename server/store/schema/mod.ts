/**
 * The tables as Kysely sees them, and the steps that make them: a file a kind of record, with both. What is stored
 * serves both databases: ids are text, times bigint milliseconds, switches integers 0 and 1, JSON is text.
 */
import type { Migration } from "./types.ts";
// Tunnels
import { ephemeralTunnels, type EphemeralTunnelTables } from "./ephemeral_tunnels.ts";
import { tunnels, type TunnelTables } from "./tunnels.ts";
// Accounts
import { accounts, type AccountTables } from "./accounts.ts";
import { signIn, type SignInTables } from "./sign_in.ts";
// Captures
import { viewResponses, views, type ViewTables } from "./views.ts";

export type { Moment, Switch, TextList } from "./sign_in.ts";
export type { Dialect, Migration } from "./types.ts";

/** All tables of the store, by their names. */
export interface Database extends
  // Tunnels
  EphemeralTunnelTables,
  TunnelTables,
  // Accounts
  SignInTables,
  AccountTables,
  // Captures
  ViewTables,
  // What has been done
  MigrationTables {}

/** In the order in which they run. */
export const MIGRATIONS: readonly Migration[] = [
  // Tunnels
  ephemeralTunnels,
  tunnels,
  // Accounts
  signIn,
  accounts,
  // Captures
  views,
  viewResponses,
];

interface MigrationTables {
  /** The steps that were done. */
  migrations: { name: string; done_at: number };
  /** What servers before the names went by: they refuse a number that they do not know. */
  schema_version: { version: number };
}
