import { Buffer } from "node:buffer";
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
  /** 200, or that of the error. */
  status: number;
}

/** A form that nobody has filled in. */
export const EMPTY_FORM: FormState = { values: {}, problems: {}, status: 200 };

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

/**
 * The form with what a function said against it, for the fields it may name.
 * @throws `error` when it is nothing that a form could mend
 */
export function refuseForm(fields: URLSearchParams, error: unknown, names: readonly string[] = []): FormState {
  if (!(error instanceof HttpError) || error.status >= 500) throw error;
  // As programs are told it; here the field says itself which it is.
  const message = error.message.replace(/^Field "[^"]*" /, "It ");
  const text = error.details === undefined ? message : `${message} ${error.details}`;
  const named = fieldOf(error);
  const field = named !== undefined && names.includes(named) ? named : "form";
  return { values: Object.fromEntries(fields), problems: { [field]: text }, status: error.status };
}

/** A field of a form; "" when it was not sent. */
export const textOf = (fields: URLSearchParams, name: string): string => fields.get(name) ?? "";

/** The field that an error is about, as programs are told it. */
function fieldOf({ body }: HttpError): string | undefined {
  const told = body?.error;
  if (typeof told !== "object" || told === null || !("field" in told)) return undefined;
  return typeof told.field === "string" ? told.field : undefined;
}
