export { createLocalArrivals } from "./arrivals.ts";
export { createLocalPresence } from "./local.ts";
export type { Arrivals, Presence } from "./types.ts";
