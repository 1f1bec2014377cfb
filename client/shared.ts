import process from "node:process";
import { text } from "node:stream/consumers";
import type { FlagTexts } from "../common/command_line.ts";
import type { FetchTarget } from "../common/fetch_target.ts";
import { describeError, type Logger } from "../common/log.ts";
import { OptionError } from "../common/options.ts";
import { type ClientConfig, clientOptions } from "./config.ts";
import { CommandError } from "./command_error.ts";
import { askSecret } from "./ask_secret.ts";

/** What the command line says is shared: a folder, a file or a site. */
export interface Shared {
  /** Shown to the user. */
  readonly name: string;
  readonly target: FetchTarget;
}

/** The flags that say what is carried; one of them at most. */
const KINDS = ["expose", "files", "filesWrite", "web"] as const;

/**
 * Opens what `-f`, `-fw` or `-w` name; null when none of them is given.
 * @param flags as given: what they do not say is the default, or comes from the environment for other runs
 * @throws OptionError for flags that do not go together, CommandError when it cannot be shared
 */
export async function openShared(
  config: ClientConfig,
  flags: FlagTexts,
  log: Logger,
): Promise<Shared | null> {
  checkTogether(config, flags);
  const path = config.filesWrite ?? config.files;
  if (path !== null) {
    const writable = config.filesWrite !== null;
    const passphrase = await readPassphrase(config, flags);
    const { hidden, maxUpload } = config;
    // Loaded when wanted: a tunnel to a port does without their memory.
    const { createFileShare } = await import("./files/mod.ts");
    const target = open(path, () => createFileShare({ path, writable, passphrase, hidden, maxUpload, log }));
    return { name: `${path} (${writable ? "read and write" : "read-only"})`, target };
  }
  const { web, spa, live, hidden } = config;
  if (web === null) return null;
  const { createSite } = await import("./site/mod.ts");
  return { name: `${web} (website)`, target: open(web, () => createSite({ path: web, spa, live, hidden, log })) };
}

/** The environment as it counts for a run: a passphrase in it, were it an empty one, is for runs that share files. */
export function selectEnv(flags: FlagTexts, env: Env): Env {
  const isFiles = flags.files !== undefined || flags.filesWrite !== undefined;
  return isFiles ? env : { ...env, [clientOptions.passphrase.env]: undefined };
}

type Env = Readonly<Record<string, string | undefined>>;

function checkTogether(config: ClientConfig, flags: FlagTexts): void {
  const given = KINDS.filter((kind) => config[kind] !== null);
  if (given.length > 1) throw new OptionError("only one of -e, -f, -fw and -w can be given");
  const isFiles = config.files !== null || config.filesWrite !== null;
  if (config.web === null && (config.spa !== null || config.live)) throw new OptionError("--spa and --live go with -w");
  if (config.filesWrite === null && config.maxUpload !== null) throw new OptionError("--max-upload goes with -fw");
  // Nobody must believe that what has no gate has one.
  if (!isFiles && flags.passphrase !== undefined) {
    throw new OptionError("-p goes with -f and -fw: nothing else asks for it");
  }
  if (!isFiles && config.web === null && config.hidden) throw new OptionError("--hidden goes with -f, -fw or -w");
  checkLocal(config, flags, isFiles || config.web !== null);
  if (config.tunnel !== null) throw new OptionError("-t needs a login, and this release has none yet");
}

function checkLocal({ local, resume }: ClientConfig, { localHost }: FlagTexts, isShared: boolean): void {
  if (local !== null && !isShared) throw new OptionError("--local goes with -f, -fw or -w");
  if (local !== null && resume) throw new OptionError("--resume goes with a tunnel, and --local has none");
  // Without --local the share would be public, which is not what an address of this machine asks for.
  if (local === null && localHost !== undefined) throw new OptionError("--local-host goes with --local");
}

function open(path: string, create: () => FetchTarget): FetchTarget {
  try {
    return create();
  } catch (cause) {
    // A TypeError is ours and says it all; what the system says needs to be put into words.
    const reason = describeError(cause);
    throw new CommandError(cause instanceof TypeError ? reason : `cannot share "${path}": ${reason}`, { cause });
  }
}

/** The passphrase of the flag or the environment; asked for when the flag has none. */
async function readPassphrase({ passphrase }: ClientConfig, flags: FlagTexts): Promise<string | undefined> {
  if (passphrase === null) return undefined;
  const given = flags.passphrase === ASK ? await ask() : passphrase;
  if (given === "") throw new OptionError("-p: the passphrase is empty");
  return given;
}

async function ask(): Promise<string> {
  if (process.stdin.isTTY) return await askSecret("Passphrase for visitors: ");
  return (await text(process.stdin)).replace(/\r?\n$/, "");
}

/** Stands for `-p` without a value. No value of a flag begins with a dash; one of the environment may. */
const ASK = clientOptions.passphrase.bare;
