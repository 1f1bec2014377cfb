import { type CompletedCommand, type CompletionModel, followers, lastWord, type Values } from "./model.ts";

/** Returns a script for bash 3.2 (macOS) and later, for `source <(portway completion bash)`. */
export function renderBash(model: CompletionModel): string {
  const { program, commands } = model, name = `_${program}`;
  return `# Completion of ${program} for bash.
${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} flag=\${COMP_WORDS[COMP_CWORD-1]} command= IFS=$'\\n'
  COMPREPLY=()
  # Bash takes --flag=value for three words.
  if [[ $cur == = ]]; then cur=
  elif [[ $flag == = ]]; then flag=\${COMP_WORDS[COMP_CWORD-2]}; fi
${commands.filter((command) => command.name !== "").map(renderMatch).join("\n")}
  case "$command $flag" in
${commands.flatMap((command) => renderValues(command)).join("\n")}
  esac
  case "$command" in
${commands.map((command) => renderWords(model, command)).join("\n")}
  esac
}
complete -F ${name} ${program}
`;
}

/** Sorted by depth, so that the longest match wins. */
function renderMatch({ name }: CompletedCommand): string {
  const words = name.split(" "), depth = words.length;
  const test = words.map((word, at) => `\${COMP_WORDS[${at + 1}]} == ${word}`).join(" && ");
  return `  [[ $COMP_CWORD -gt ${depth} && ${test} ]] && command=${quote(name)}`;
}

function renderValues({ name, options }: CompletedCommand): string[] {
  return options.flatMap(({ flags, value }) => {
    if (value === null) return [];
    const patterns = flags.map((flag) => quote(`${name} ${flag}`)).join("|");
    // An optional value can also be the next flag.
    const guard = value.isOptional ? "[[ $cur == -* ]] || " : "";
    return [`    ${patterns}) ${guard}{ ${renderResponse(value.values)}return; } ;;`];
  });
}

function renderWords(model: CompletionModel, command: CompletedCommand): string {
  const flags = command.options.flatMap((option) => option.flags);
  const words = followers(model, command).map(lastWord);
  const operand = command.operands[0];
  const others = words.length > 0
    ? renderResponse({ kind: "words", words })
    : operand === undefined
    ? ""
    : renderResponse(operand.values);
  return `    ${quote(command.name)})
      if [[ $cur == -* ]]; then ${renderResponse({ kind: "words", words: flags })}
      ${others === "" ? "" : `else ${others}`}fi ;;`;
}

/** Returns statements that fill COMPREPLY. */
function renderResponse(values: Values): string {
  const generate = (how: string) => `COMPREPLY=($(compgen ${how} -- "$cur")); `;
  switch (values.kind) {
    case "words":
      return generate(`-W ${quote(values.words.join("\n"))}`);
    case "files":
      return `compopt -o filenames 2>/dev/null; ${generate("-f")}`;
    case "folders":
      return `compopt -o filenames 2>/dev/null; ${generate("-d")}`;
    case "names":
      return generate(`-W "$("\${COMP_WORDS[0]}" completion names ${values.what} 2>/dev/null | cut -f 1)"`);
    case "free":
      return "";
  }
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
