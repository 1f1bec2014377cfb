import type { HtmlEscapedString } from "hono/utils/html";

/** What a component gives back. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;
