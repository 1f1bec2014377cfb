import process from "node:process";
import type { Arguments } from "../common/command_line/mod.ts";
import { formatBytes } from "../common/format.ts";
import { nameSource, OptionError, resolveOptions } from "../common/options.ts";
import { writeText } from "../common/output/mod.ts";
import { backUpOptions } from "./config.ts";
import { IN_MEMORY } from "./open/store.ts";
import { backUp } from "./store/mod.ts";

/**
 * Copies the embedded database, also while a server uses it.
 * @param args the operand names the new file
 * @returns the exit code
 * @throws OptionError without an embedded database; errors from {@link backUp}
 */
export async function runBackUp({ flags, operands: [target] }: Arguments): Promise<number> {
  const config = resolveOptions(backUpOptions, { flags, env: process.env });
  if (config.databaseUrl !== null) {
    const source = nameSource(backUpOptions, config, "databaseUrl");
    throw new OptionError(`${source}: only the embedded database is copied; PostgreSQL has pg_dump for that`);
  }
  if (config.dataDir === IN_MEMORY) throw new OptionError(`${IN_MEMORY}: it has no file to copy`);
  const { source, bytes } = backUp(config.dataDir, target);
  const line = config.json
    ? JSON.stringify({ event: "backed_up", source, file: target, bytes })
    : `Copied ${source} to ${target}, ${formatBytes(bytes)}.`;
  await writeText(process.stdout, line + "\n");
  return 0;
}
