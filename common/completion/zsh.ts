import {
  type CompletedCommand,
  type CompletedOption,
  type CompletionModel,
  followers,
  lastWord,
  type Values,
} from "./model.ts";

/** Returns a script for zsh: a file `_portway` in \$fpath, or for `source <(portway completion zsh)`. */
export function renderZsh(model: CompletionModel): string {
  const { program, commands } = model, name = `_${program}`;
  const deepest = [...commands].filter((command) => command.name !== "")
    .sort((a, b) => b.name.split(" ").length - a.name.split(" ").length);
  return `#compdef ${program}
# Completion of ${program} for zsh.
${name}_names() {
  local line
  local -a names=()
  for line in \${(f)"$(_call_program names $service completion names $1 2>/dev/null)"}; do
    names+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe $1 names
}
${commands.map((command) => renderFunction(model, command)).join("\n")}
${name}() {
${deepest.map((command) => renderChoice(name, command)).join("\n")}
  ${functionName(name, "")}
}
if [[ $funcstack[1] == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi
`;
}

const functionName = (name: string, command: string) => `${name}__${command.replaceAll(/\W/g, "_") || "main"}`;

/** Passes the remaining words to the command's function. */
function renderChoice(name: string, command: CompletedCommand): string {
  const words = command.name.split(" "), depth = words.length;
  const test = words.map((word, at) => `$words[${at + 2}] == ${word}`).join(" && ");
  return `  if (( CURRENT > ${depth + 1} )) && [[ ${test} ]]; then
    words=($words[1] "\${(@)words[${depth + 2},-1]}")
    (( CURRENT -= ${depth} ))
    ${functionName(name, command.name)}
    return
  fi`;
}

function renderFunction(model: CompletionModel, command: CompletedCommand): string {
  const name = `_${model.program}`, others = followers(model, command);
  const list = others.map((other) => `${lastWord(other)}\\:"${other.summary.replaceAll(":", "\\:")}"`).join(" ");
  const operand = command.operands[0];
  const specs = [
    ...command.options.map((option) => renderOption(name, option)),
    ...(others.length > 0 ? [quote(`1:command:((${list}))`)] : []),
    ...(operand !== undefined ? [quote(`1:${operand.name}:${renderAction(name, operand.values)}`)] : []),
  ];
  return `${functionName(name, command.name)}() {
  _arguments -S : \\
    ${specs.join(" \\\n    ")}
}`;
}

/** Returns a flag for _arguments: exclusions, flag, description, value. */
function renderOption(name: string, { flags, help, value, isRepeatable }: CompletedOption): string {
  const exclude = isRepeatable ? "*" : flags.length > 1 ? `(${flags.join(" ")})` : "";
  const taken = value === null
    ? ""
    : `${value.isOptional ? "::" : ":"}${escape(value.name)}:${renderAction(name, value.values)}`;
  // Long flags accept their value after a space or "=".
  return flags.map((flag) =>
    quote(`${exclude}${flag}${value !== null && flag.startsWith("--") ? "=" : ""}[${escape(help)}]${taken}`)
  ).join(" \\\n    ");
}

function renderAction(name: string, values: Values): string {
  switch (values.kind) {
    case "words":
      return `(${values.words.join(" ")})`;
    case "files":
      return "_files";
    case "folders":
      return "_files -/";
    case "names":
      // The space separates these from further _arguments parameters.
      return ` ${name}_names ${values.what}`;
    case "free":
      return " ";
  }
}

const escape = (text: string) => text.replaceAll(/[\\[\]:]/g, "\\$&");
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
