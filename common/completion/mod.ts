import type { Program } from "../command_line/mod.ts";
import { renderBash } from "./bash.ts";
import { renderFish } from "./fish.ts";
import { type CompletionModel, createModel } from "./model.ts";
import { renderZsh } from "./zsh.ts";

export { NAME_KINDS, type NameKind } from "./model.ts";

/** Shells with completion. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
/** A shell with completion. */
export type Shell = typeof SHELLS[number];

const RENDERERS: Readonly<Record<Shell, (model: CompletionModel) => string>> = {
  bash: renderBash,
  zsh: renderZsh,
  fish: renderFish,
};

/** Returns a shell's completion script for a program: commands, flags and values. */
export async function renderCompletion(shell: Shell, program: Program): Promise<string> {
  return RENDERERS[shell](await createModel(program));
}
