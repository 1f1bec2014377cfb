import { printable } from "../../common/format.ts";
import type { LineWriter } from "../../common/output/mod.ts";

/** Where a command that ends by itself says what came of it: lines for people or JSON for scripts. */
export interface Teller {
  /** @param lines for people; what they say of strangers is made safe for a terminal here */
  tell(event: string, fields: Readonly<Record<string, unknown>>, lines: readonly string[]): void;
  /** A sentence for people, on standard error where they read. */
  note(text: string): void;
  /** Resolves when everything has been written. */
  flush(): Promise<void>;
}

/** Tells in lines, or with `json` in one object a line. */
export function createTeller(out: LineWriter, errors: LineWriter, json: boolean): Teller {
  const event = (name: string, fields: Readonly<Record<string, unknown>>) =>
    out.write(JSON.stringify({ event: name, ...fields }));
  return {
    tell(name, fields, lines) {
      if (json) return event(name, fields);
      for (const line of lines) out.write(printable(line));
    },
    note: (text) => json ? event("note", { text }) : errors.write(printable(text)),
    flush: async () => {
      await out.flush();
      await errors.flush();
    },
  };
}

/** Two columns, the first as wide as its widest cell. */
export function alignFields(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
}
