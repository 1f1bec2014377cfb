import type { Program } from "../command_line/mod.ts";
import { renderBash } from "./bash.ts";
import { renderFish } from "./fish.ts";
import { type CompletionModel, createModel } from "./model.ts";
import { renderZsh } from "./zsh.ts";

export { NAME_KINDS, type NameKind } from "./model.ts";

/** The shells that there is completion for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
/** A shell that completion is written for. */
export type Shell = typeof SHELLS[number];

const RENDERERS: Readonly<Record<Shell, (model: CompletionModel) => string>> = {
  bash: renderBash,
  zsh: renderZsh,
  fish: renderFish,
};

/** The script that makes a shell complete the command lines of a program: commands, flags and values. */
export async function renderCompletion(shell: Shell, program: Program): Promise<string> {
  return RENDERERS[shell](await createModel(program));
}
