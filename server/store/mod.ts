export { openStore, type StoreOptions } from "./open.ts";
export { parsePostgresAddress, type PostgresAddress } from "./postgres_address.ts";
export { LabelTaken, NameTaken, StoreUnavailable, TooManyTunnels, TooManyViews } from "./errors.ts";
export type { Database, Dialect } from "./schema/mod.ts";
export type { Store } from "./types.ts";
// Tunnels
export type { EphemeralTunnel, EphemeralTunnels, Traffic } from "./ephemeral_tunnels.ts";
export type {
  AllowedPorts,
  PersistentTunnel,
  PersistentTunnelChange,
  PersistentTunnels,
  TunnelPage,
} from "./persistent_tunnels.ts";
export type { AccountUser, TunnelTraffic, Usage, UsageDay, UsageReport, UserTraffic } from "./usage.ts";
// Accounts
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
