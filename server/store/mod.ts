export { openStore, type StoreOptions } from "./open.ts";
export {
  type EphemeralTunnel,
  type EphemeralTunnels,
  LabelTaken,
  type Store,
  StoreUnavailable,
  type Traffic,
} from "./types.ts";
