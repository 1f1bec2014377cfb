export { openStore, type StoreOptions } from "./open.ts";
export { parsePostgresAddress, type PostgresAddress } from "./postgres_address.ts";
export { type Backup, backUp } from "./sqlite/back_up.ts";
export { LabelTaken, NameTaken, StoreUnavailable, TooManyTokens, TooManyTunnels, TooManyViews } from "./errors.ts";
export type { Database, Dialect } from "./schema/mod.ts";
export type { Store } from "./types.ts";
// Tunnels
export type { EphemeralTraffic, EphemeralTunnel, EphemeralTunnels } from "./tunnels/ephemeral_tunnels.ts";
export type {
  AllowedPorts,
  PersistentTunnel,
  PersistentTunnelChange,
  PersistentTunnels,
  TunnelPage,
} from "./tunnels/persistent_tunnels.ts";
export type { AccountUser, TunnelTraffic, UsageDay, UsageRecords, UsageReport, UserTraffic } from "./tunnels/usage.ts";
// Accounts
export type { AuditEntry } from "./accounts/audit_log.ts";
export type { Grant } from "./accounts/grants.ts";
export type { Identities } from "./accounts/identities.ts";
export type { AccountMember, Membership, PendingInvitation } from "./accounts/members.ts";
export type { MemberRefusal } from "./accounts/member_changes.ts";
export { SET_UP } from "./accounts/settings.ts";
export type { KnownUser, NewUser, NewUserCondition, User } from "./accounts/users.ts";
export type { PersonalToken } from "./accounts/personal_tokens.ts";
// Captures
export {
  type BodyChunk,
  type Capture,
  type CaptureBatch,
  type CaptureFilter,
  type CaptureHead,
  type Captures,
  INLINE_BYTES,
  type NewCapture,
  type OpenedCapture,
} from "./captures/types.ts";
export type { NewView, View, ViewChanges, ViewResponse, Views } from "./captures/views.ts";
