/** Writes the documents that are made from code; a test holds the committed files to them. */
import { writeFileSync } from "node:fs";
import type { OptionTable } from "../common/options.ts";
import { clientOptions } from "../client/config.ts";
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

/** The text of docs/configuration.md. */
export function renderConfiguration(programs = PROGRAMS): string {
  const sections = programs.map(([heading, table]) => `## ${heading}\n\n${renderTable(table)}`);
  return `${INTRODUCTION}\n\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Configuration

Made from the option tables in code by \`deno task docs\`: change those, not this file.

A flag goes before its environment variable, and that before the default. An unknown flag, or a value that cannot be
used, is an error that names it.`;

function renderTable(table: OptionTable): string {
  const rows = Object.values(table).map(({ flag, metavar, env, fallback, help, secret }) => {
    const shown = secret || fallback === "" ? "" : code(fallback);
    return [code(metavar === undefined ? flag : `${flag} ${metavar}`), env === undefined ? "" : code(env), shown, help];
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

if (import.meta.main) writeFileSync(CONFIGURATION_FILE, renderConfiguration());
