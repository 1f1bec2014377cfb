export { LocalPresence } from "./local.ts";
export type { Carrier, Presence } from "./types.ts";
