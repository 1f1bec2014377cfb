import { z } from "zod";
import { CHALLENGES } from "../receive/challenge.ts";
import { isResponseField } from "../response_fields.ts";

const MAX_NAME = 100;
const MAX_FIELDS = 30;
const MAX_FIELD_VALUE = 2000;
/** Characters in a response body. */
const MAX_RESPONSE_BODY = 64 * 1024;
/** Characters in a provider's secret. */
const MAX_SECRET = 500;
/** No sender waits longer. */
const MAX_DELAY_MS = 60_000;

const fieldName = z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/, "must be the name of a header")
  .refine(isResponseField, "is a header that a view's response cannot have");
const fieldValue = z.string().max(MAX_FIELD_VALUE)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "must be text of one line, of characters up to U+00FF");

const response = z.strictObject({
  status: z.int().min(200).max(599),
  headers: z.array(z.tuple([fieldName, fieldValue])).max(MAX_FIELDS),
  body: z.string().max(MAX_RESPONSE_BODY),
  delayMs: z.int().min(0).max(MAX_DELAY_MS),
  cors: z.boolean(),
  template: z.boolean(),
  challenge: z.enum(CHALLENGES).nullable(),
  // Pasted secrets often end with a line break.
  challengeSecret: z.string().trim().max(MAX_SECRET).transform((text) => text === "" ? null : text).nullable(),
});

// Control characters would reach terminals.
const name = z.string().trim().min(1).max(MAX_NAME).regex(/^[^\p{Cc}\p{Cf}]*$/u, "must be printable text of one line");

/** The input for a new view. */
export const newViewInput = z.strictObject({ name: name.nullish() });

/** Characters in the target URL. */
const MAX_URL = 2000;

const replayUrl = z.string().max(MAX_URL).transform((text, context) => {
  const url = URL.parse(text.trim());
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "") return url;
  context.addIssue({
    code: "custom",
    message: "must be an http or https URL without a query: the capture has its own",
  });
  return z.NEVER;
});

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Fields of an edited call, and characters of its body in base64. */
const MAX_EDITED_FIELDS = 200;
const MAX_EDITED_BODY = 384 * 1024;

/** Parts that replace the captured ones. Missing parts stay. Texts have one character per byte. */
const captureEdit = z.strictObject({
  method: z.string().max(32).regex(TOKEN, "must be an HTTP method").optional(),
  path: z.string().max(8000).regex(
    /^(?:[/?][\x21-\x22\x24-\x7e\x80-\xff]*)?$/,
    "must be a path and query, without spaces",
  )
    .optional(),
  headers: z.array(z.tuple([
    z.string().max(200).regex(TOKEN, "must be the name of a header"),
    z.string().max(16_000).regex(/^[\t\x20-\x7e\x80-\xff]*$/, "must be text of one line"),
  ])).max(MAX_EDITED_FIELDS).optional(),
  body: z.base64("must be base64").max(MAX_EDITED_BODY).optional(),
});

/** A checked edit. */
export type CaptureEdit = z.output<typeof captureEdit>;

/** The input for a replay: the target URL, by default the view itself, and changes to the call. */
export const replayInput = z.strictObject({ url: replayUrl.nullish(), edit: captureEdit.optional() })
  .refine(({ url, edit }) => edit === undefined || (url !== undefined && url !== null), {
    path: ["edit"],
    message: "needs a URL: a view keeps calls as they came",
  });

/** The changes to a view. Missing members of the response stay. */
export interface ViewChangesInput {
  name?: string;
  answer?: Partial<z.output<typeof response>>;
  retentionDays?: number;
  maxCaptures?: number;
}

/** Creates the schema for changes. @param limits this server's limits */
export function viewChangesInput(limits: { maxCaptures: number; retentionDays: number }): z.ZodType<ViewChangesInput> {
  return z.strictObject({
    name: name.optional(),
    answer: response.partial().optional(),
    retentionDays: z.int().min(1).max(limits.retentionDays).optional(),
    maxCaptures: z.int().min(1).max(limits.maxCaptures).optional(),
  });
}
