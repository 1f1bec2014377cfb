/** Generates documents from code. A test compares them with the committed files. */
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
import { ERRORS_FILE, renderErrors } from "./error_reference.ts";
import { renderManPage } from "./man_page.ts";
import { MEDIA_TYPES_FILE, renderMediaTypes } from "./media_types.ts";
import { proxyOnlyOptions, serverOptions } from "../server/config.ts";

/** Programs in docs/reference/configuration.md. */
const PROGRAMS: readonly [heading: string, table: OptionTable][] = [
  ["Server (`deno run -A server.ts`, `portway server`)", serverOptions],
  ["`portway proxy`, in addition to the server options for the proxy", {
    openPaths: proxyOnlyOptions.openPaths,
  }],
  ["Client (`portway`)", clientOptions],
];

/** The configuration reference. */
export const CONFIGURATION_FILE = new URL("../docs/reference/configuration.md", import.meta.url);

/** The manual page for `man`. */
export const MAN_FILE = new URL("../docs/reference/portway.1", import.meta.url);

/** JSON Schemas for configuration files, with their paths. */
export const SCHEMAS: readonly (readonly [file: URL, text: string])[] = ([
  ["server", "Configuration of `portway server`", serverOptions],
  ["client", "Configuration of `portway`", clientOptions],
] as const).map(([name, title, table]) => [
  new URL(`../docs/reference/config.${name}.schema.json`, import.meta.url),
  renderConfigSchema(title, table),
]);

/** The `portway` program with all its commands. */
export const portway = createProgram({ commands: serverCommands, startEmbeddedRelay: loadEmbeddedRelay });

/** Returns docs/reference/configuration.md. */
export function renderConfiguration(programs = PROGRAMS): string {
  const sections = programs.map(([heading, table]) => `## ${heading}\n\n${renderGroups(table)}`);
  return `${INTRODUCTION}\n\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Configuration

\`deno task docs\` generates this page from the option tables.

A flag overrides its environment variable, the variable overrides the \`--config\` file, and the file overrides the
default. The file is JSON with option names, which are the flags in camel case: \`{ "dataDir": "/var/lib/portway" }\`.
Unknown flags and invalid values are errors that name the option and the file. For editors, set \`$schema\` to
[config.server.schema.json](config.server.schema.json) or [config.client.schema.json](config.client.schema.json).`;

/** The limits reference. */
export const LIMITS_FILE = new URL("../docs/reference/limits.md", import.meta.url);

/** Value names that mark an option as a limit. */
const LIMITING = ["BYTES", "COUNT", "DAYS", "SECONDS"];

/** Returns docs/reference/limits.md: limits by server option, fixed limits, and the client's limits. */
export function renderLimits(): string {
  const groups = groupOptions(serverOptions).map(([heading, options]) => {
    const limits = options.filter(({ metavar = "" }) => LIMITING.includes(metavar));
    const rows = limits.map((option) => [code(option.flag), option.fallback && code(option.fallback), option.help]);
    return rows.length === 0 ? [] : [`## ${heading}\n\n${renderRows([["Option", "Default", "Limits"], ...rows])}`];
  });
  const client = `${SHARING}\n\n${renderFixed(SHARING_LIMITS)}\n\n## Client\n\n${renderFixed(CLIENT_LIMITS)}`;
  return `${LIMITS_INTRODUCTION}\n\n${groups.flat().join("\n\n")}\n\n${FIXED_LIMITS}\n\n${client}\n`;
}

const LIMITS_INTRODUCTION = `# Limits

\`deno task docs\` generates this page from code. The first tables list server options.

[Configuration](configuration.md) has the environment variables. Fixed limits follow.`;

const FIXED_LIMITS = `## Fixed limits

${
  renderRows([
    ["Limit", "Maximum"],
    ["ports in the list of a persistent tunnel", String(MAX_ALLOWED_PORTS)],
    ["characters in its name", String(MAX_NAME)],
    ["days of usage in one API call", String(MAX_DAYS)],
    ["bytes in a head inside a session", String(MAX_HEAD)],
    ["unacknowledged bytes per stream", String(MAX_WINDOW)],
    [`the same per session, in addition to ${INITIAL_WINDOW} per stream`, String(MAX_WINDOW_GROWTH + OVERDRAFT)],
    ["the same for all sessions", String(PROCESS_GROWTH + PROCESS_OVERDRAFT)],
  ])
}

[Request views](../guides/capture/request-views.md), [CORS proxy](../guides/proxy/cors-proxy.md) and
[Accounts](../guides/operate/accounts.md) list further limits.`;

const SHARING = `## Sharing

\`--max-upload\` limits each uploaded file. Without it, and for folders, archives and copies, the disk is the only limit.
A share with \`--local\` reads requests like a server with default options. Fixed limits:`;

function renderFixed(limits: readonly FixedLimit[]): string {
  return renderRows([["Limit", "Maximum"], ...limits.map((limit) => [limit[0], readLimit(limit)])]);
}

/** Renders one table per option group, with headings when there are several. */
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
  return renderRows([["Flag", "Environment", "Default", "Effect"], ...rows]);
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
  writeFileSync(ERRORS_FILE, renderErrors());
  writeFileSync(MEDIA_TYPES_FILE, renderMediaTypes());
  writeFileSync(MAN_FILE, await renderManPage(portway));
}
