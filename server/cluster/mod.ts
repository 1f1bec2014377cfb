export { createLocalPresence } from "./local.ts";
export type { Presence } from "./types.ts";
