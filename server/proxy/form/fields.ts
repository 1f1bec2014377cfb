import { Buffer } from "node:buffer";

/** An urlencoded form without the describing field. */
export interface DescribedFields {
  text: string;
  /** The other fields, byte for byte. */
  rest: Buffer;
}

/** Removes the first field with a matching name from an urlencoded form. Returns null when there is none. */
export function takeField(form: Buffer, names: readonly string[]): DescribedFields | null {
  const fields = splitFields(form);
  const at = fields.findIndex((field) => names.includes(decode(field.split("=", 1)[0])));
  if (at === -1) return null;
  const [field] = fields.splice(at, 1);
  return { text: readValue(field), rest: Buffer.from(fields.join("&"), "latin1") };
}

/** Whether a field's value starts like a file reference. */
export function hasReference(form: Buffer): boolean {
  return splitFields(form).some((field) => readValue(field).startsWith("file:"));
}

/** Splits a form into `name=value` texts in Latin-1, which loses no byte. */
function splitFields(form: Buffer): string[] {
  return form.toString("latin1").split("&");
}

function readValue(field: string): string {
  const equals = field.indexOf("=");
  return equals === -1 ? "" : decode(field.slice(equals + 1));
}

/** Decodes a name or a value: https://url.spec.whatwg.org/#urlencoded-parsing. */
function decode(component: string): string {
  return new URLSearchParams(`=${Buffer.from(component, "latin1").toString("utf8")}`).get("") ?? "";
}
