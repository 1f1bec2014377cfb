export type { Answer, ApiArea, Area, Face } from "./types.ts";
