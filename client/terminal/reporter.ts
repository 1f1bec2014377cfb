import { printable } from "../../common/format.ts";
import type { LineWriter } from "../../common/output/mod.ts";

/** The output for a command that ends by itself: lines for people, or JSON for scripts. */
export interface Reporter {
  /** @param lines text for people; untrusted characters in it are made safe for a terminal here */
  report(event: string, fields: Readonly<Record<string, unknown>>, lines: readonly string[]): void;
  /** Shows a sentence for people, on standard error. */
  note(text: string): void;
  /** Resolves when all output is written. */
  flush(): Promise<void>;
}

/** Creates an output that writes lines, or with `json` one object per line. */
export function createReporter(out: LineWriter, errors: LineWriter, json: boolean): Reporter {
  const event = (name: string, fields: Readonly<Record<string, unknown>>) =>
    out.write(JSON.stringify({ event: name, ...fields }));
  return {
    report(name, fields, lines) {
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

/** Returns two columns, the first as wide as its widest cell. */
export function alignFields(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
}
