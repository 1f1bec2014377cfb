import { findClosest } from "./find_closest.ts";
import { OptionError, type OptionTable, REMOVED, removedError } from "./options.ts";

/**
 * Converts options by name, as in `{ "port": 8787, "trustedProxies": ["10.0.0.1"] }`, into texts for the table. Lists
 * become comma-separated values, or repeated flags.
 * @param origin source of the values, for messages
 * @throws OptionError for an unknown key, or for a value that is neither text, number, switch nor list
 */
export function readConfigValues(table: OptionTable, values: unknown, origin: string): Record<string, string> {
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new OptionError(`${origin}: an object of options is wanted`);
  }
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    const option = Object.hasOwn(table, name) ? table[name] : null;
    if (option === null) {
      const removed = table[REMOVED]?.[name];
      if (removed !== undefined) throw removedError(`${origin}: ${name}`, removed);
      const closest = findClosest(name, Object.keys(table));
      throw new OptionError(
        `${origin}: there is no option "${name}"${closest === null ? "" : `: did you mean ${closest}?`}`,
      );
    }
    const text = toText(value, option.isRepeatable ? "\n" : ",");
    if (text === null) throw new OptionError(`${origin}: ${name}: a text, a number, true, false or a list is wanted`);
    texts[name] = text;
  }
  return texts;
}

function toText(value: unknown, separator: string): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (!Array.isArray(value) || !value.every((part) => typeof part === "string" || typeof part === "number")) {
    return null;
  }
  return value.join(separator);
}
