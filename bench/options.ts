import process from "node:process";
import { parseArgs, type ParseArgsConfig } from "node:util";

/** The {@link parseArgs} result for the flags in `Config`. */
type Values<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config>>["values"];

/** Returns the flags for a benchmark program. Exits with code 2 and a list of all flags after an unknown one. */
export function readOptions<const Options extends NonNullable<ParseArgsConfig["options"]>>(
  options: Options,
): Values<{ options: Options }> {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The message continues with advice about positional arguments, which do not exist here.
    const [reason] = error.message.split(". ");
    const flags = Object.keys(options).map((name) => `--${name}`).join(", ");
    process.stderr.write(`${reason}; the options are ${flags}\n`);
    process.exit(2);
  }
}
