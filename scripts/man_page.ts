import {
  type Command,
  describe,
  generalOptions,
  groupOptions,
  nameOption,
  type Program,
} from "../common/command_line/mod.ts";
import type { OptionTable } from "../common/options.ts";

/** The manual page of a program, in the man macros, made from the tables that its help is made from. */
export async function renderManPage({ name, about, commands }: Program): Promise<string> {
  const shown = commands.filter(({ isHidden }) => !isHidden);
  const [main, ...others] = await Promise.all(shown.map(async (command) => {
    return { command, table: await command.loadOptions() };
  }));
  const lines = [
    `.TH ${name.toUpperCase()} 1 "" "" "User commands"`,
    ".SH NAME",
    `${name} \\- ${escape(main.command.summary)}`,
    ".SH SYNOPSIS",
    ...shown.flatMap((command) => renderUsage(name, command)),
    ".SH DESCRIPTION",
    escape(`${about}.`),
    ".SH OPTIONS",
    ...renderOptions({ ...main.table, ...generalOptions }),
    ".SH COMMANDS",
    ...others.flatMap(({ command, table }) => [
      `.SS ${quote(`${name} ${command.name}`)}`,
      escape(`${capitalize(command.summary)}.`),
      ...renderOptions(table),
    ]),
    ".SH EXIT STATUS",
    "0 when it has done what was asked, 2 for wrong usage, 1 otherwise.",
    ".SH EXAMPLES",
    ...shown.flatMap(({ examples = [] }) => examples).flatMap(([line, does]) => [
      ".TP",
      `.B ${escape(line)}`,
      escape(does),
    ]),
  ];
  return lines.join("\n") + "\n";
}

function renderUsage(program: string, { name, usage = "[options]", operands = [] }: Command): string[] {
  const full = `${program} ${name}`.trim();
  return usage.split("\n").flatMap((line) => [`.B ${escape(full)}`, escape([...operands, line].join(" ")), ".br"]);
}

function renderOptions(table: OptionTable): string[] {
  return groupOptions(table).flatMap(([heading, options]) =>
    options.length === 0 ? [] : [
      ".PP",
      `.I ${quote(heading)}`,
      ...options.flatMap((option) => [".TP", `.B ${escape(nameOption(option))}`, escape(describe(option))]),
    ]
  );
}

const capitalize = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Escapes roff requests, and keeps typed dashes. */
const escape = (text: string) =>
  text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^(?=[.'])/, "\\&").replaceAll('"', "\\(dq");

const quote = (text: string) => `"${escape(text)}"`;
