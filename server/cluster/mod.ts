export { createLocalArrivals } from "./arrivals.ts";
export { LocalPresence } from "./local.ts";
export type { Arrivals, Presence, SessionHandle } from "./types.ts";
