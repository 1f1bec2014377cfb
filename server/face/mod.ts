export { Cors, type CorsOptions, EXPOSE_HEADERS } from "./cors.ts";
export { Lazy, type LazyOptions } from "./lazy.ts";
export { shareWithPages } from "./share_with_pages.ts";
export type { Answer, ApiArea, Area, Face } from "./types.ts";
