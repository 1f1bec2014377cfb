/** Whether this is Deno. */
export const IS_DENO: boolean = typeof Deno === "object";
