/**
 * The tables as Kysely sees them, and the migrations that create them: one file per kind of record. The values suit
 * both databases: ids are text, times bigint milliseconds, switches integers 0 and 1, and JSON is text.
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

/** All tables by name. */
export interface Database extends
  // Tunnels
  EphemeralTunnelTables,
  TunnelTables,
  // Accounts
  SignInTables,
  AccountTables,
  // Captures
  ViewTables,
  // Migrations
  MigrationTables {}

/** All migrations in order. */
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
  /** Completed migrations. */
  migrations: { name: string; done_at: number };
  /** The version number for servers that do not know migration names. They refuse an unknown number. */
  schema_version: { version: number };
}
