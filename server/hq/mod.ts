export { createHq, type Hq, type HqOptions } from "./hq.ts";
