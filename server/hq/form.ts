import { Buffer } from "node:buffer";
import type { z } from "zod";
import { HttpError } from "../../common/http_error.ts";
import type { HqContext } from "./types.ts";

/** Bytes of a form: texts of people, never files. */
const MAX_FORM_BYTES = 64 * 1024;

/** What is wrong with fields of a form, by their names; under `form` what concerns no single one. */
export type FormProblems = Readonly<Record<string, string | undefined>>;

/** A form as it was sent, to be shown again with what is wrong. */
export interface FormState {
  values: Readonly<Record<string, string>>;
  problems: FormProblems;
}

/** A form that nobody has filled in. */
export const EMPTY_FORM: FormState = { values: {}, problems: {} };

/**
 * The fields of a posted form.
 * @throws HttpError 413 or 415 for what no form of ours sends
 */
export async function readForm(context: HqContext): Promise<URLSearchParams> {
  const { exchange } = context.env;
  const type = exchange.header("content-type")?.split(";")[0].trim().toLowerCase();
  if (exchange.hasBody && type !== "application/x-www-form-urlencoded") {
    throw new HttpError(415, "unsupported_form", "This form cannot be read.");
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    size += piece.length;
    if (size > MAX_FORM_BYTES) throw new HttpError(413, "form_too_large", "This form is too long.");
    pieces.push(piece.slice());
  }
  return new URLSearchParams(Buffer.concat(pieces).toString("utf8"));
}

/** The values of a form by its schema, or the form with what is wrong. A name that came several times counts once. */
export function checkForm<S extends z.ZodType>(
  schema: S,
  fields: URLSearchParams,
): { values: z.output<S>; state: null } | { values: null; state: FormState } {
  const values = Object.fromEntries(fields);
  const result = schema.safeParse(values);
  if (result.success) return { values: result.data, state: null };
  const problems: Record<string, string> = {};
  for (const { path, message } of result.error.issues) problems[String(path[0] ?? "form")] ??= message;
  return { values: null, state: { values, problems } };
}

/**
 * The form with what a function said against it, for the fields it may name.
 * @throws `error` when it is nothing that a form could mend
 */
export function refuseForm(fields: URLSearchParams, error: unknown, names: readonly string[] = []): FormState {
  if (!(error instanceof HttpError) || error.status >= 500) throw error;
  const text = error.details === undefined ? error.message : `${error.message} ${error.details}`;
  const named = fieldOf(error);
  const field = named !== undefined && names.includes(named) ? named : "form";
  return { values: Object.fromEntries(fields), problems: { [field]: text } };
}

/** The field that an error is about, as programs are told it. */
function fieldOf({ body }: HttpError): string | undefined {
  const told = body?.error;
  if (typeof told !== "object" || told === null || !("field" in told)) return undefined;
  return typeof told.field === "string" ? told.field : undefined;
}
