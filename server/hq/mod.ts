export { createHq, type Hq } from "./hq.ts";
export type { HqOptions } from "./types.ts";
