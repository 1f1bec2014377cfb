export { openStore, type StoreOptions } from "./open.ts";
export { parsePostgresAddress, type PostgresAddress } from "./postgres_address.ts";
export { type Backup, backUp } from "./back_up.ts";
export { LabelTaken, NameTaken, StoreUnavailable, TooManyTunnels, TooManyViews } from "./errors.ts";
export type { Database, Dialect } from "./schema/mod.ts";
export type { Store } from "./types.ts";
// Tunnels
export type { EphemeralTraffic, EphemeralTunnel, EphemeralTunnels } from "./ephemeral_tunnels.ts";
export type {
  AllowedPorts,
  PersistentTunnel,
  PersistentTunnelChange,
  PersistentTunnels,
  TunnelPage,
} from "./persistent_tunnels.ts";
export type { AccountUser, TunnelTraffic, UsageDay, UsageRecords, UsageReport, UserTraffic } from "./usage.ts";
// Accounts
export type { AuditEntry } from "./audit_log.ts";
export type { AccountMember, Grant, Identities, KnownUser, Membership, PendingInvitation, User } from "./identities.ts";
export type { PersonalToken } from "./personal_tokens.ts";
// Captures
export {
  type BodyPiece,
  type Capture,
  type CaptureBatch,
  type CaptureFilter,
  type CaptureHead,
  type Captures,
  INLINE_BYTES,
  type NewCapture,
  type OpenedCapture,
} from "./capture_types.ts";
export type { NewView, View, ViewAnswer, ViewChanges, Views } from "./views.ts";
