import { CONNECTION_FIELDS, encodeLatin1 } from "../../../net/http1/mod.ts";

/** The header fields that gates replace or remove in one forwarded request. */
export class FieldEdits {
  readonly #edits = new Map<string, string | null>();

  /**
   * Replaces a field, or removes it with null. The check matters, since a value can contain a visitor's text.
   * @param name in lower case
   * @throws TypeError for a malformed name or value (RFC 9110, section 5), and for a field that frames the message
   */
  set(name: string, value: string | null): void {
    if (!NAME.test(name)) throw new TypeError(`cannot set "${name}": malformed field name`);
    if (value !== null && !VALUE.test(value)) throw new TypeError(`cannot set "${name}": malformed field value`);
    if (FRAMING.has(name)) throw new TypeError(`cannot set "${name}": it frames the message`);
    this.#edits.set(name, value);
  }

  /** The edited fields' names, which the forwarded head drops. */
  get names(): ReadonlySet<string> {
    return new Set(this.#edits.keys());
  }

  /** Serializes the new values as field lines. */
  serialize(): Uint8Array {
    const lines = [...this.#edits].map(([name, value]) => value === null ? "" : `${name}: ${value}\r\n`);
    return encodeLatin1(lines.join(""));
  }
}

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const FRAMING: ReadonlySet<string> = new Set([...CONNECTION_FIELDS, "content-length", "host"]);
