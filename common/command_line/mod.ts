export { flagsOf, nameFlags, parseFlags } from "./parse_flags.ts";
export { describe, groupOptions, nameOption, renderHelp } from "./render_help.ts";
export { generalOptions, runProgram } from "./run_program.ts";
export type { Arguments, Command, FlagTexts, Program } from "./types.ts";
