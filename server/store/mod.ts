export { openStore, type StoreOptions } from "./open.ts";
export { type EphemeralTunnel, type EphemeralTunnels, LabelTaken, type Store, type Traffic } from "./types.ts";
