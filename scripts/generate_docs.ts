/** Writes the documents that are made from code; a test holds the committed files to them. */
import { writeFileSync } from "node:fs";
import { groupOptions, nameOption } from "../common/command_line/mod.ts";
import type { Option, OptionTable } from "../common/options.ts";
import { clientOptions } from "../client/config.ts";
import { createProgram } from "../client/main.ts";
import { loadEmbeddedRelay, serverCommands } from "../server/program.ts";
import {
  INITIAL_WINDOW,
  MAX_HEAD,
  MAX_WINDOW,
  MAX_WINDOW_GROWTH,
  OVERDRAFT,
  PROCESS_GROWTH,
  PROCESS_OVERDRAFT,
} from "../protocol/mod.ts";
import { MAX_ALLOWED_PORTS, MAX_DAYS, MAX_NAME } from "../server/relay/mod.ts";
import { renderConfigSchema } from "./config_schema.ts";
import { CLIENT_LIMITS, type FixedLimit, readLimit, SHARING_LIMITS } from "./fixed_limits.ts";
import { renderManPage } from "./man_page.ts";
import { proxyOnlyOptions, serverOptions } from "../server/config.ts";

/** The programs in docs/reference/configuration.md: a table more is a line more. */
const PROGRAMS: readonly [heading: string, table: OptionTable][] = [
  ["Server (`deno run -A server.ts`, `portway server`)", serverOptions],
  ["`portway proxy` alone, besides those of the server that concern it", {
    openPaths: proxyOnlyOptions.openPaths,
  }],
  ["Client (`portway`)", clientOptions],
];

/** Where the document lies. */
export const CONFIGURATION_FILE = new URL("../docs/reference/configuration.md", import.meta.url);

/** The manual page, as `man` finds it once it is copied to where the system keeps them. */
export const MAN_FILE = new URL("../docs/reference/portway.1", import.meta.url);

/** Schemas of configuration files, and where they lie. */
export const SCHEMAS: readonly (readonly [file: URL, text: string])[] = ([
  ["server", "Configuration of `portway server`", serverOptions],
  ["client", "Configuration of `portway`", clientOptions],
] as const).map(([name, title, table]) => [
  new URL(`../docs/reference/config.${name}.schema.json`, import.meta.url),
  renderConfigSchema(title, table),
]);

/** The `portway` program with all its commands. */
export const portway = createProgram({ commands: serverCommands, startEmbeddedRelay: loadEmbeddedRelay });

/** The text of docs/reference/configuration.md. */
export function renderConfiguration(programs = PROGRAMS): string {
  const sections = programs.map(([heading, table]) => `## ${heading}\n\n${renderGroups(table)}`);
  return `${INTRODUCTION}\n\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Configuration

Made from the option tables in code by \`deno task docs\`: change those, not this file.

A flag goes before its environment variable, that before the file of \`--config\`, and that before the default. The file
is JSON with the options by their names, which are the flags in one word: \`{ "dataDir": "/var/lib/portway" }\`. An
unknown flag, or a value that cannot be used, is an error that names it, and the file it stands in. Editors check files
by [config.server.schema.json](config.server.schema.json) and [config.client.schema.json](config.client.schema.json),
which \`$schema\` in a file may name.`;

/** Where the limits are told of. */
export const LIMITS_FILE = new URL("../docs/reference/limits.md", import.meta.url);

/** Options with such a value bound what somebody may take. */
const LIMITING = ["BYTES", "COUNT", "DAYS", "SECONDS"];

/** The text of docs/reference/limits.md: what bounds each group of the server's options, what no option changes, and the client. */
export function renderLimits(): string {
  const groups = groupOptions(serverOptions).map(([heading, options]) => {
    const limits = options.filter(({ metavar = "" }) => LIMITING.includes(metavar));
    const rows = limits.map((option) => [code(option.flag), option.fallback && code(option.fallback), option.help]);
    return rows.length === 0
      ? []
      : [`## ${heading}\n\n${renderRows([["Option", "Default", "What it bounds"], ...rows])}`];
  });
  const client = `${SHARING}\n\n${renderFixed(SHARING_LIMITS)}\n\n## Client\n\n${renderFixed(CLIENT_LIMITS)}`;
  return `${LIMITS_INTRODUCTION}\n\n${groups.flat().join("\n\n")}\n\n${FIXED_LIMITS}\n\n${client}\n`;
}

const LIMITS_INTRODUCTION = `# Limits

Made from code by \`deno task docs\`: change that, not this file. The first tables are options of the server, and
variables too ([configuration.md](configuration.md)); what has no option stands behind them.`;

const FIXED_LIMITS = `## What no option changes

${
  renderRows([
    ["What", "At most"],
    ["ports in the list of a persistent tunnel", String(MAX_ALLOWED_PORTS)],
    ["characters of its name", String(MAX_NAME)],
    ["days of usage that one call tells of", String(MAX_DAYS)],
    ["bytes of a head inside a session", String(MAX_HEAD)],
    ["bytes of a stream on their way to who has not taken them", String(MAX_WINDOW)],
    [`the same of all streams of a session, beside ${INITIAL_WINDOW} each`, String(MAX_WINDOW_GROWTH + OVERDRAFT)],
    ["the same of all sessions, likewise", String(PROCESS_GROWTH + PROCESS_OVERDRAFT)],
  ])
}

[views.md](views.md), [proxy.md](proxy.md) and [accounts.md](accounts.md) have those of their own.`;

const SHARING = `## Sharing

\`--max-upload\` bounds a file that visitors send; without it, and for a folder's entries, an archive and a copy, the disk
is the only bound. A share with \`--local\` reads requests as a server with default options does. What no option changes:`;

function renderFixed(limits: readonly FixedLimit[]): string {
  return renderRows([["What", "At most"], ...limits.map((limit) => [limit[0], readLimit(limit)])]);
}

/** A table for each group of options, under its heading when there are several. */
function renderGroups(table: OptionTable): string {
  const groups = groupOptions(table);
  if (groups.length === 1) return renderTable(groups[0][1]);
  return groups.map(([heading, options]) => `### ${heading}\n\n${renderTable(options)}`).join("\n\n");
}

function renderTable(options: readonly Option<unknown>[]): string {
  const rows = options.map((option) => {
    const { env, fallback, help, secret } = option;
    const shown = secret || fallback === "" ? "" : code(fallback);
    return [code(nameOption(option)), env === undefined ? "" : code(env), shown, help];
  });
  return renderRows([["Flag", "Environment", "Default", "What it does"], ...rows]);
}

/** Columns as wide as their widest cell: the form that \`deno fmt\` leaves alone. */
function renderRows(rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = escaped[0].map((_, column) => Math.max(...escaped.map((row) => row[column].length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(" | ")} |`;
  const [head, ...body] = escaped;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}

if (import.meta.main) {
  writeFileSync(CONFIGURATION_FILE, renderConfiguration());
  writeFileSync(LIMITS_FILE, renderLimits());
  for (const [file, text] of SCHEMAS) writeFileSync(file, text);
  writeFileSync(MAN_FILE, await renderManPage(portway));
}
