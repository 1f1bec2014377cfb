import { explainError } from "../explain_error.ts";
import { readFileSync } from "node:fs";
import { readConfigValues } from "../config_values.ts";
import { decodeText } from "../platform/mod.ts";
import { OptionError, type OptionTable, parseOption } from "../options.ts";
import type { FlagTexts } from "./types.ts";

/**
 * Reads flag texts, and the `--config` file for options without flag or variable.
 * @throws OptionError with the file's name when the file cannot be read or parsed, or has an unknown option or an
 * invalid value
 */
export function loadConfigFile(table: OptionTable, flags: FlagTexts, env: FlagTexts): FlagTexts {
  const path = flags.configFile ?? (env.PORTWAY_CONFIG || undefined);
  if (path === undefined) return flags;
  const { configFile: _self, help: _help, version: _version, ...options } = table;
  const texts = readConfigValues(options, withoutSchema(parse(path)), path);
  const isOpen = (name: string) => {
    const { env: variable } = options[name];
    return variable === undefined || (env[variable] ?? "") === "";
  };
  const used = Object.entries(texts).filter(([name]) => isOpen(name) && flags[name] === undefined);
  // Parses here, where the values' origin is still known.
  for (const [name, text] of used) parseOption(options[name], text, `${path}: ${name}`);
  return { ...Object.fromEntries(used), ...flags };
}

/** Removes `$schema`, which editors use. */
function withoutSchema(content: unknown): unknown {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return content;
  return Object.fromEntries(Object.entries(content).filter(([name]) => name !== "$schema"));
}

function parse(path: string): unknown {
  try {
    return JSON.parse(decodeText(readFileSync(path)));
  } catch (cause) {
    throw new OptionError(`--config: cannot use "${path}": ${explainError(cause)}`, { cause });
  }
}
