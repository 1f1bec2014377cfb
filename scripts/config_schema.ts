import { boolean, boundsOf, list, type Option, type OptionTable, wordsOf } from "../common/options.ts";

/** A JSON schema of the file that `--config` names, as text: for editors, and for who checks files before a start. */
export function renderConfigSchema(title: string, table: OptionTable): string {
  const properties = Object.entries(table).map(([name, option]) => [name, describeOption(option)]);
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title,
    type: "object",
    additionalProperties: false,
    properties: { $schema: { type: "string" }, ...Object.fromEntries(properties) },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function describeOption(option: Option<unknown>): Record<string, unknown> {
  const value = describeValue(option);
  const isShown = !option.secret && option.fallback !== "";
  return { description: option.help, ...value, ...(isShown ? { default: readDefault(option, value.type) } : {}) };
}

const TEXTS = { type: ["string", "number", "array"], items: { type: ["string", "number"] } };

function describeValue(option: Option<unknown>): { type: unknown; [keyword: string]: unknown } {
  const bounds = boundsOf(option), words = wordsOf(option);
  if (option.parse === boolean) return { type: "boolean" };
  if (bounds !== null) return { type: "integer", minimum: bounds.min, maximum: bounds.max };
  if (words.length > 0) return { type: "string", enum: words };
  return option.isRepeatable || option.parse === list ? TEXTS : { type: ["string", "number"] };
}

function readDefault({ fallback }: Option<unknown>, type: unknown): string | number | boolean {
  if (type === "boolean") return fallback === "true";
  return type === "integer" ? Number(fallback) : fallback;
}
