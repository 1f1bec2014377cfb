/** Writes the documents that are made from code; a test holds the committed files to them. */
import { writeFileSync } from "node:fs";
import { groupOptions, nameOption } from "../common/command_line/mod.ts";
import type { Option, OptionTable } from "../common/options.ts";
import { clientOptions } from "../client/config.ts";
import { createProgram } from "../client/main.ts";
import { loadEmbeddedRelay, serverCommands } from "../server/program.ts";
import { renderManPage } from "./man_page.ts";
import { proxyOnlyOptions, serverOptions } from "../server/config.ts";

/** The programs in docs/configuration.md: a table more is a line more. */
const PROGRAMS: readonly [heading: string, table: OptionTable][] = [
  ["Server (`deno run -A server.ts`, `portway server`)", serverOptions],
  ["`portway proxy` alone, besides those of the server that concern it", {
    openPaths: proxyOnlyOptions.openPaths,
  }],
  ["Client (`portway`)", clientOptions],
];

/** Where the document lies. */
export const CONFIGURATION_FILE = new URL("../docs/configuration.md", import.meta.url);

/** The manual page, as `man` finds it once it is copied to where the system keeps them. */
export const MAN_FILE = new URL("../docs/portway.1", import.meta.url);

/** The `portway` program with all its commands. */
export const portway = createProgram({ commands: serverCommands, startEmbeddedRelay: loadEmbeddedRelay });

/** The text of docs/configuration.md. */
export function renderConfiguration(programs = PROGRAMS): string {
  const sections = programs.map(([heading, table]) => `## ${heading}\n\n${renderGroups(table)}`);
  return `${INTRODUCTION}\n\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Configuration

Made from the option tables in code by \`deno task docs\`: change those, not this file.

A flag goes before its environment variable, that before the file of \`--config\`, and that before the default. The file
is JSON with the options by their names, which are the flags in one word: \`{ "dataDir": "/var/lib/portway" }\`. An
unknown flag, or a value that cannot be used, is an error that names it.`;

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
  writeFileSync(MAN_FILE, await renderManPage(portway));
}
