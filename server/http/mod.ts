export { Cors, type CorsOptions, EXPOSE_HEADERS } from "./cors.ts";
export { Lazy, type LazyOptions } from "./lazy.ts";
export { shareWithPages } from "./share_with_pages.ts";
export type { Answer, ApiArea, Area, Handler } from "./types.ts";
export { badField, checkInput, checkQuery, fieldRefused, findFault, readJsonBody } from "./check_input.ts";
export { isForeignFieldAllowed } from "./response_fields.ts";
export { isHostOf } from "./own_host.ts";
