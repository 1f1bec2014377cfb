import { Buffer } from "node:buffer";

/** A call to which a view responds. */
export interface CapturedCall {
  /** The capture's cursor. */
  cursor: number;
  method: string;
  /** Path and query as received, one character per byte. */
  path: string;
  /** Alternating names and values, one character per byte. */
  headers: readonly string[];
  contentType: string | null;
  /** The body, or its first 64 KiB. */
  body: Uint8Array;
}

/** Reads values from a call by name. A missing value is null. */
export class CallValues {
  readonly #call: CapturedCall;
  #query: URLSearchParams | null = null;
  #text: string | null = null;
  #json: { value: unknown } | null = null;
  #form: URLSearchParams | null = null;

  constructor(call: CapturedCall) {
    this.#call = call;
  }

  get method(): string {
    return this.#call.method;
  }

  query(name: string): string | null {
    const { path } = this.#call, mark = path.indexOf("?");
    this.#query ??= new URLSearchParams(mark < 0 ? "" : path.slice(mark + 1));
    return this.#query.get(name);
  }

  header(name: string): string | null {
    const { headers } = this.#call, wanted = name.toLowerCase();
    const at = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === wanted);
    return at < 0 ? null : headers[at + 1];
  }

  form(name: string): string | null {
    this.#form ??= new URLSearchParams(this.#body);
    return this.#form.get(name);
  }

  /**
   * Returns a value from a JSON body by its path, such as `payload.items.0.id`. Objects and arrays are returned as
   * JSON.
   */
  json(path: string): string | null {
    this.#json ??= { value: parseJson(this.#body) };
    let value = this.#json.value;
    for (const key of path.split(".")) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return null;
      value = Reflect.get(value, key);
    }
    return typeof value === "string" ? value : JSON.stringify(value);
  }

  /** Returns the value for a placeholder, such as `query.challenge`; null for a missing value or an unknown name. */
  get(name: string): string | null {
    const { cursor, method, path } = this.#call, dot = name.indexOf(".");
    const kind = dot < 0 ? name : name.slice(0, dot), key = dot < 0 ? "" : name.slice(dot + 1);
    switch (kind) {
      case "id":
        return String(cursor);
      case "method":
        return method;
      case "path":
        return path.split("?", 1)[0];
      case "query":
        return this.query(key);
      case "header":
        return this.header(key);
      case "form":
        return this.form(key);
      case "json":
        return this.json(key);
      default:
        return null;
    }
  }

  get #body(): string {
    const { buffer, byteOffset, byteLength } = this.#call.body;
    return this.#text ??= Buffer.from(buffer, byteOffset, byteLength).toString();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The body is not JSON, so it has no values.
    return null;
  }
}

/** Characters per value, and per filled text: repeated placeholders with a long value would produce a huge response. */
const MAX_VALUE = 8192, MAX_FILLED = 256 * 1024;

/** Replaces placeholders such as `{{query.challenge}}` by values from a call. A missing value becomes empty. */
export function fillPlaceholders(text: string, values: CallValues, escape = (value: string) => value): string {
  let size = text.length;
  return text.replace(/\{\{\s*([a-z]+(?:\.[^{}\s]{1,100})?)\s*\}\}/g, (_, name: string) => {
    const value = escape((values.get(name) ?? "").slice(0, MAX_VALUE));
    size += value.length;
    return size > MAX_FILLED ? "" : value;
  });
}
