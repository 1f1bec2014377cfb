import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeTempDir } from "./temp_dir.ts";

export type ShellName = "bash" | "zsh" | "fish";

/** A shell that completes the command lines of `portway`, which it finds on its path. */
export interface Shell extends AsyncDisposable {
  /** The folder it stands in. */
  readonly folder: string;
  /** What the shell shows when Tab is pressed behind a line, and the line that it makes of it. */
  complete(line: string): Promise<{ shown: string; line: string }>;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Where Deno keeps what it has compiled: in a new home it would do it again, and write there while that is removed. */
const DENO_DIR = Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME") ?? "", ".cache", "deno");
const END = "\x07\x07\x07\x07";

/** Prepares a shell as its user would: with the script that `portway completion` prints, and a screen with room. */
export async function openShell(name: ShellName, env: Readonly<Record<string, string>> = {}): Promise<Shell> {
  const folder = await makeTempDir();
  const program = join(folder.path, "portway");
  await writeFile(program, `#!/bin/sh\nexec "${Deno.execPath()}" run --quiet -A ${root}cli.ts "$@"\n`, { mode: 0o755 });
  const environment = {
    PATH: `${folder.path}:${Deno.env.get("PATH")}`,
    HOME: folder.path,
    DENO_DIR,
    TERM: "xterm",
    ...env,
  };
  await writeFile(join(folder.path, "script"), await run(program, ["completion", name], environment));
  await writeFile(join(folder.path, "setup"), SETUPS[name]);
  await writeFile(join(folder.path, "drive"), DRIVER);
  const here = join(folder.path, "here");
  await mkdir(here);
  const drive = name === "fish"
    ? (line: string) => run("fish", ["--no-config", "-c", `source ../script; complete -C '${line}'`], environment, here)
    : (line: string) => run("zsh", ["-f", "../drive", name, `${line}\t`], environment, here);
  return {
    folder: here,
    complete: async (line) => readScreen(await drive(line), line),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Ctrl+G shows the line as it stands. */
const SETUPS: Readonly<Record<ShellName, string>> = {
  // It would write its history into the folder that is being removed.
  bash: `unset HISTFILE; PS1='> '; stty columns 200 rows 100
bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; bind 'set completion-query-items 0'
bind 'set enable-bracketed-paste off'
bind -x '"\\C-g": printf "<%s>\\a\\a\\a\\a" "$READLINE_LINE"'
source ../script
printf '<%s>\\n' ready
`,
  zsh: `PS1='> '; stty columns 200 rows 100
autoload -U compinit; compinit -u -D
LISTMAX=10000
show() { zle -I; print -rn -- "<$BUFFER>"$'\\a\\a\\a\\a' }
zle -N show; bindkey '^G' show; bindkey '^I' complete-word
unsetopt always_last_prompt list_beep
source ../script
printf '<%s>\\n' ready
`,
  fish: "",
};

/** Types keys into a shell on a terminal of its own, and prints what it shows. */
const DRIVER = `zmodload zsh/zpty
if [[ $1 == bash ]]; then zpty shell bash --norc --noprofile -i; else zpty shell zsh -f -i; fi
zpty -w shell "source ../setup"
zpty -r shell seen '*<ready>*'
zpty -w -n shell "$2"$'\\C-g'
zpty -r shell seen $'*\\a\\a\\a\\a*'
print -rn -- "$seen"
`;

function readScreen(screen: string, typed: string): { shown: string; line: string } {
  // deno-lint-ignore no-control-regex -- what steers the terminal
  const shown = screen.replace(/\x1b\[[?\d;]*[a-z]|\r/gi, "");
  const [, line] = new RegExp(`<([^<>]*)>${END}`).exec(shown) ?? [, typed];
  return { shown, line: line ?? typed };
}

async function run(program: string, args: string[], env: Record<string, string>, cwd?: string): Promise<string> {
  const command = new Deno.Command(program, { args, env, clearEnv: true, cwd, stdin: "null", stderr: "piped" });
  const { stdout, stderr, success } = await command.output();
  if (!success) throw new Error(`${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
