import { Buffer } from "node:buffer";

/** An urlencoded form without the field that describes the request. */
export interface DescribedFields {
  text: string;
  /** The other fields, byte for byte. */
  rest: Buffer;
}

/** Takes the first field of one of these names off an urlencoded form; null when there is none. */
export function takeField(form: Buffer, names: readonly string[]): DescribedFields | null {
  const fields = splitFields(form);
  const at = fields.findIndex((field) => names.includes(decode(field.split("=", 1)[0])));
  if (at === -1) return null;
  const [field] = fields.splice(at, 1);
  return { text: readValue(field), rest: Buffer.from(fields.join("&"), "latin1") };
}

/** Whether a field's value begins like a reference to a file. */
export function hasReference(form: Buffer): boolean {
  return splitFields(form).some((field) => readValue(field).startsWith("file:"));
}

/** Each a name, `=` and a value as they were sent, in Latin-1: no byte is lost. */
function splitFields(form: Buffer): string[] {
  return form.toString("latin1").split("&");
}

function readValue(field: string): string {
  const equals = field.indexOf("=");
  return equals === -1 ? "" : decode(field.slice(equals + 1));
}

/** A name or a value as text: https://url.spec.whatwg.org/#urlencoded-parsing. */
function decode(component: string): string {
  return new URLSearchParams(`=${Buffer.from(component, "latin1").toString("utf8")}`).get("") ?? "";
}
