import {
  type CompletedCommand,
  type CompletedOption,
  type CompletionModel,
  followers,
  lastWord,
  type Values,
} from "./model.ts";

/** Returns a script for fish, for `portway completion fish | source`. */
export function renderFish(model: CompletionModel): string {
  const { program, commands } = model;
  const names = commands.map(({ name }) => name).filter((name) => name !== "")
    .sort((a, b) => b.length - a.length);
  return `# Completion of ${program} for fish.
function __${program}_is --argument-names wanted
    set -l words (commandline -opc)
    set -e words[1]
    for name in ${names.map(quote).join(" ")}
        set -l depth (count (string split ' ' -- $name))
        if test (count $words) -ge $depth; and test "$words[1..$depth]" = "$name"
            test "$wanted" = "$name"
            return
        end
    end
    test -z "$wanted"
end
function __${program}_begins --argument-names wanted
    set -l words (commandline -opc)
    set -e words[1]
    test "$words" = "$wanted"
end
function __${program}_after
    set -l words (commandline -opc)
    contains -- $words[-1] $argv
end
complete -c ${program} -f
${commands.flatMap((command) => renderCommand(model, command)).join("\n")}
`;
}

function renderCommand(model: CompletionModel, command: CompletedCommand): string[] {
  const complete = `complete -c ${model.program}`;
  const when = (test: string) => `${complete} -n ${quote(test)}`;
  const is = `__${model.program}_is ${quote(command.name)}`;
  return [
    ...followers(model, command).map((other) =>
      `${when(`__${model.program}_begins ${quote(command.name)}`)} -a ${lastWord(other)} -d ${quote(other.summary)}`
    ),
    ...command.operands.slice(0, 1).map(({ values }) =>
      `${when(`__${model.program}_begins ${quote(command.name)}`)} ${renderValues(model.program, values)}`
    ),
    ...command.options.map((option) => `${when(is)} ${renderFlags(option)} ${renderTaken(model.program, option)}`),
    // fish has no optional values, so they are offered after the flag.
    ...command.options.filter(({ value }) => value?.isOptional && value.values.kind !== "free").map((
      { flags, value },
    ) =>
      `${when(`${is}; and __${model.program}_after ${flags.join(" ")}`)} ${
        renderValues(model.program, value?.values ?? { kind: "free" })
      }`
    ),
  ];
}

/** \`-s\` is for one letter, \`-o\` for several after one dash, \`-l\` for two dashes. */
function renderFlags({ flags, help }: CompletedOption): string {
  const names = flags.map((flag) => {
    if (flag.startsWith("--")) return `-l ${flag.slice(2)}`;
    return flag.length === 2 ? `-s ${flag.slice(1)}` : `-o ${flag.slice(1)}`;
  });
  return `${names.join(" ")} -d ${quote(help)}`;
}

function renderTaken(program: string, { value }: CompletedOption): string {
  if (value === null || value.isOptional) return "";
  return value.values.kind === "files" ? "-r -F" : `-x ${renderValues(program, value.values)}`;
}

function renderValues(program: string, values: Values): string {
  switch (values.kind) {
    case "words":
      return `-a ${quote(values.words.join(" "))}`;
    case "files":
      return "-F";
    case "folders":
      return `-a ${quote("(__fish_complete_directories)")}`;
    case "names":
      return `-a ${quote(`(${program} completion names ${values.what} 2>/dev/null)`)}`;
    case "free":
      return "";
  }
}

const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
