import type { Kysely } from "kysely";
import type { Database } from "./schema/mod.ts";
// Tunnels
import { createEphemeralTunnels, type EphemeralTunnels } from "./ephemeral_tunnels.ts";
import { createPersistentTunnels, type PersistentTunnels } from "./persistent_tunnels.ts";
import { createUsage, type Usage } from "./usage.ts";
// Accounts
// Captures
import type { Captures } from "./capture_types.ts";
import { createCaptures } from "./captures.ts";
import { createViews, type Views } from "./views.ts";

/** What is kept, a member a kind. Every method throws {@link StoreUnavailable} while the database fails. */
export interface Records {
  // Tunnels
  readonly ephemeralTunnels: EphemeralTunnels;
  readonly persistentTunnels: PersistentTunnels;
  readonly usage: Usage;
  // Accounts
  // Captures
  readonly views: Views;
  readonly captures: Captures;
}

/** All kinds of records, in any database that Kysely speaks to. */
export function createRecords(db: Kysely<Database>): Records {
  return {
    // Tunnels
    ephemeralTunnels: createEphemeralTunnels(db),
    persistentTunnels: createPersistentTunnels(db),
    usage: createUsage(db),
    // Accounts
    // Captures
    views: createViews(db),
    captures: createCaptures(db),
  };
}
