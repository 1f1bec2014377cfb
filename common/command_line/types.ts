import type { OptionTable } from "../options.ts";

/** Flag texts from a command line, by option name. `resolveOptions` checks them. */
export type FlagTexts = Readonly<Record<string, string | undefined>>;

/** A parsed command line. */
export interface Arguments {
  readonly flags: FlagTexts;
  /** Arguments without flags and their values, in order. */
  readonly operands: readonly string[];
}

/** A command in a program's table. Its modules load on use. */
export interface Command {
  /** Words that select the command, such as `server backup`; empty for the program itself. */
  readonly name: string;
  /** One line for help. */
  readonly summary: string;
  /** Usage after the name in help; `[options]` if left out. */
  readonly usage?: string;
  /** Names for required arguments, such as `FILE`. None if left out. */
  readonly operands?: readonly string[];
  /** Command lines for help, each with its effect. */
  readonly examples?: readonly (readonly [line: string, does: string])[];
  /** Shows help when called without arguments. */
  readonly needsArguments?: boolean;
  /** Hidden from the command list, because programs call it. */
  readonly isHidden?: boolean;
  loadOptions(): OptionTable | Promise<OptionTable>;
  /**
   * @returns the exit code
   * @throws Error with a line for the user; an `OptionError` for wrong usage
   */
  run(args: Arguments): Promise<number>;
}

/** A program with its commands. */
export interface Program {
  readonly name: string;
  /** One line about the program. */
  readonly about: string;
  readonly commands: readonly Command[];
}
