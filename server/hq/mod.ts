export { createHq, type Hq, type HqOptions } from "./hq.ts";
export type { AccountSummary, Viewer } from "./types.ts";
