import { readFileSync } from "node:fs";
import { readConfigValues } from "../config_values.ts";
import { describeError } from "../log.ts";
import { OptionError, type OptionTable } from "../options.ts";
import type { FlagTexts } from "./types.ts";

/**
 * The texts of the flags, and of the file that `--config` names for what neither a flag nor a variable says.
 * @throws OptionError when the file cannot be read, is no JSON, or has an option that there is none of
 */
export function loadConfigFile(table: OptionTable, flags: FlagTexts, env: FlagTexts): FlagTexts {
  const path = flags.configFile ?? (env.PORTWAY_CONFIG || undefined);
  if (path === undefined) return flags;
  const { configFile: _self, help: _help, version: _version, ...options } = table;
  const texts = readConfigValues(options, parse(path), path);
  const isOpen = (name: string) => {
    const { env: variable } = options[name];
    return variable === undefined || (env[variable] ?? "") === "";
  };
  return { ...Object.fromEntries(Object.entries(texts).filter(([name]) => isOpen(name))), ...flags };
}

function parse(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new OptionError(`--config: cannot use "${path}": ${describeError(cause)}`, { cause });
  }
}
