import process from "node:process";
import { parseArgs, type ParseArgsConfig } from "node:util";

/** What {@link parseArgs} makes of the flags that `Config` describes. */
type Values<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config>>["values"];

/**
 * The flags that a program of this folder was given. One that it does not have ends it with exit code 2, and a line that
 * says which there are.
 */
export function readOptions<const Options extends NonNullable<ParseArgsConfig["options"]>>(
  options: Options,
): Values<{ options: Options }> {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // What follows is advice about arguments without a flag, of which there are none.
    const [reason] = error.message.split(". ");
    const flags = Object.keys(options).map((name) => `--${name}`).join(", ");
    process.stderr.write(`${reason}; the options are ${flags}\n`);
    process.exit(2);
  }
}
