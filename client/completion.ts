import process from "node:process";
import type { Program } from "../common/command_line/mod.ts";
import { NAME_KINDS, type NameKind, renderCompletion, SHELLS } from "../common/completion/mod.ts";
import { later } from "../common/later.ts";
import { silentLogger } from "../common/log.ts";
import { choice, OptionError, resolveOptions } from "../common/options.ts";
import { writeText } from "../common/output/mod.ts";
import { asRecord } from "./api/mod.ts";
import { clientOptions } from "./config.ts";

/** Time that a user who pressed Tab waits for names. */
const PATIENCE_MS = 2000;

/**
 * Runs `portway completion`: prints the script for a shell.
 * @returns the exit code
 * @throws OptionError for an unsupported shell
 */
export async function printCompletion(program: Program, shell: string): Promise<number> {
  const script = await renderCompletion(parseOperand(choice(...SHELLS), shell), program);
  await writeText(process.stdout, script);
  return 0;
}

/**
 * Runs `portway completion names`: prints a line for each name, with its meaning after a tab. All errors give an empty
 * list, because the user is typing a command line.
 * @returns the exit code
 * @throws OptionError for a kind without names
 */
export async function printNames(kind: string): Promise<number> {
  const names = await loadNames(parseOperand(choice(...NAME_KINDS), kind)).catch(() => []);
  const lines = names.filter(([name]) => PLAIN.test(name)).map(([name, about]) => `${name}\t${clean(about)}\n`);
  await writeText(process.stdout, lines.join(""));
  return 0;
}

function parseOperand<T>(parse: (text: string) => T, text: string): T {
  try {
    return parse(text);
  } catch (cause) {
    throw new OptionError(`cannot use "${text}": ${(cause as Error).message}`, { cause });
  }
}

type Name = readonly [name: string, about: string];

/** The API path for each kind, and the words that a user can type for one record. */
const LISTS: Readonly<Record<NameKind, { path: string; read(record: Record<string, unknown>): Name[] }>> = {
  tunnels: { path: "/api/v1/tunnels", read: ({ name, url }) => [[String(name), String(url)]] },
  views: {
    path: "/api/v1/views",
    read: ({ id, name }) => [[String(name), String(id)], [String(id), String(name)]],
  },
};

async function loadNames(kind: NameKind): Promise<Name[]> {
  const { openApi }: typeof import("./open_api.ts") = await import(later("./open_api.ts"));
  const { env } = process, { path, read } = LISTS[kind];
  const { api } = await openApi({ config: resolveOptions(clientOptions, { flags: {}, env }), env, log: silentLogger });
  const list = asRecord(await api.get(path, AbortSignal.timeout(PATIENCE_MS)))[kind];
  return Array.isArray(list) ? list.flatMap((item) => read(asRecord(item))) : [];
}

/** Accepts names without a meaning to a shell: bash expands its suggestions, and a server could send a command. */
const PLAIN = /^\w[\w.-]*$/;

/** Returns a field for one line, without control characters. */
// deno-lint-ignore no-control-regex -- what must not pass
const clean = (text: string) => text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
