import type { OptionTable } from "../options.ts";

/** Texts of the flags given on a command line, by the names of their table. They are checked by `resolveOptions`. */
export type FlagTexts = Readonly<Record<string, string | undefined>>;

/** What a command line says. */
export interface Arguments {
  readonly flags: FlagTexts;
  /** What is no flag and no flag's value, in order. */
  readonly operands: readonly string[];
}

/** A command as the table of a program lists it. What it needs is loaded when it is asked for. */
export interface Command {
  /** The words that ask for it, such as `server backup`; nothing for the program itself. */
  readonly name: string;
  /** What it does, in a line of help. */
  readonly summary: string;
  /** What help says comes behind the name; `[options]` when left out. */
  readonly usage?: string;
  /** Names of what it takes besides flags, such as `FILE`; all of them are wanted. None when left out. */
  readonly operands?: readonly string[];
  /** Command lines for help, each with what it does. */
  readonly examples?: readonly (readonly [line: string, does: string])[];
  /** Does nothing without arguments: help is shown then. */
  readonly needsArguments?: boolean;
  /** Left out of the list of commands: for programs, not for people. */
  readonly isHidden?: boolean;
  loadOptions(): OptionTable | Promise<OptionTable>;
  /**
   * @returns the exit code
   * @throws Error with a line for the user; an `OptionError` for wrong usage
   */
  run(args: Arguments): Promise<number>;
}

/** A program: what its entry file runs. */
export interface Program {
  readonly name: string;
  /** What it is, in a line. */
  readonly about: string;
  readonly commands: readonly Command[];
}
