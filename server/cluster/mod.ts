export { createLocalArrivals } from "./arrivals.ts";
export { LocalPresence } from "./local.ts";
export type { Arrivals, Carrier, Presence } from "./types.ts";
