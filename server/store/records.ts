import type { Kysely } from "kysely";
import type { Database } from "./schema/mod.ts";
// Tunnels
import { createEphemeralTunnels, type EphemeralTunnels } from "./tunnels/ephemeral_tunnels.ts";
import { createPersistentTunnels, type PersistentTunnels } from "./tunnels/persistent_tunnels.ts";
import { createUsage, type UsageRecords } from "./tunnels/usage.ts";
// Accounts
import { type AuditLog, createAuditLog } from "./accounts/audit_log.ts";
import { createIdentities, type Identities } from "./accounts/identities.ts";
import { createPersonalTokens, type PersonalTokens } from "./accounts/personal_tokens.ts";
import { createSettings, type Settings } from "./accounts/settings.ts";
// Captures
import type { Captures } from "./captures/types.ts";
import { createCaptureReads } from "./captures/reads.ts";
import { createCaptureRemoval } from "./captures/removal.ts";
import { createCaptureWrites } from "./captures/writes.ts";
import { createViews, type Views } from "./captures/views.ts";

/** All stored records, one member per kind. Every method throws {@link StoreUnavailable} while the database fails. */
export interface Records {
  // Tunnels
  readonly ephemeralTunnels: EphemeralTunnels;
  readonly persistentTunnels: PersistentTunnels;
  readonly usage: UsageRecords;
  // Accounts
  readonly identities: Identities;
  readonly personalTokens: PersonalTokens;
  readonly auditLog: AuditLog;
  readonly settings: Settings;
  // Captures
  readonly views: Views;
  readonly captures: Captures;
}

/** Creates all records for either database. */
export function createRecords(db: Kysely<Database>): Records {
  return {
    // Tunnels
    ephemeralTunnels: createEphemeralTunnels(db),
    persistentTunnels: createPersistentTunnels(db),
    usage: createUsage(db),
    // Accounts
    identities: createIdentities(db),
    personalTokens: createPersonalTokens(db),
    auditLog: createAuditLog(db),
    settings: createSettings(db),
    // Captures
    views: createViews(db),
    captures: { ...createCaptureWrites(db), ...createCaptureReads(db), ...createCaptureRemoval(db) },
  };
}
