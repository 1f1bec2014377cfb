import process from "node:process";
import { text } from "node:stream/consumers";
import { explainError } from "../../common/explain_error.ts";
import type { FlagTexts } from "../../common/command_line/mod.ts";
import type { FetchTarget } from "../../common/fetch_target.ts";
import { later } from "../../common/later.ts";
import type { Logger } from "../../common/log.ts";
import { OptionError } from "../../common/options.ts";
import { type ClientConfig, clientOptions } from "../config.ts";
import { CommandError } from "../command_error.ts";
import { askSecret } from "../ask_secret.ts";
import { dressResponses } from "./dress_responses.ts";

/** What the command line says is shared: a folder, a file or a site. */
export interface Shared {
  /** Shown to the user. */
  readonly name: string;
  readonly target: FetchTarget;
  /** What the user should know before visitors come; null for nothing. */
  readonly note: string | null;
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
  const passphrase = await readPassphrase(config, flags);
  const path = config.filesWrite ?? config.files;
  if (path !== null) {
    const writable = config.filesWrite !== null;
    const { hidden, maxUpload, drop, cors, header } = config;
    // Loaded when wanted: a tunnel to a port does without their memory.
    const { createFileShare }: typeof import("../files/mod.ts") = await import(later("../files/mod.ts"));
    const share = open(
      path,
      () => createFileShare({ path, writable, drop, passphrase, hidden, maxUpload, cors, log }),
    );
    const way = drop ? "for adding files only" : writable ? "read and write" : "read-only";
    return { name: `${path} (${way})`, target: dressResponses(share, { cors, headers: header }), note: null };
  }
  const { web, spa, live, hidden, cors, header } = config;
  if (web === null) return null;
  const { createSite }: typeof import("../site/mod.ts") = await import(later("../site/mod.ts"));
  const site = open(web, () => createSite({ path: web, spa, live, hidden, passphrase, log }));
  const target = dressResponses(site, { cors, headers: header });
  return { name: `${web} (website)`, target, note: site.hasIndex ? null : explainNoIndex(web) };
}

/** The environment as it counts for a run: a passphrase in it, were it an empty one, is for runs that share something. */
export function selectEnv(flags: FlagTexts, env: Env): Env {
  const isShared = flags.files !== undefined || flags.filesWrite !== undefined || flags.web !== undefined;
  return isShared ? env : { ...env, [clientOptions.passphrase.env]: undefined };
}

type Env = Readonly<Record<string, string | undefined>>;

function checkTogether(config: ClientConfig, flags: FlagTexts): void {
  const given = KINDS.filter((kind) => config[kind] !== null && !(kind === "expose" && config.expose.length === 0));
  if (given.length > 1) throw new OptionError("only one of -e, -f, -fw and -w can be given");
  const isShared = config.files !== null || config.filesWrite !== null || config.web !== null;
  if (isShared && config.localhostRewrite) throw new OptionError("--localhost-rewrite goes with -e and -t");
  if (config.web === null && (config.spa !== null || config.live)) throw new OptionError("--spa and --live go with -w");
  if (config.filesWrite === null && config.maxUpload !== null) throw new OptionError("--max-upload goes with -fw");
  if (config.filesWrite === null && config.drop) throw new OptionError("--drop goes with -fw");
  // Nobody must believe that what has no gate has one.
  if (!isShared && flags.passphrase !== undefined) {
    throw new OptionError("-p goes with -f, -fw and -w: nothing else asks for it");
  }
  if (!isShared && config.hidden) throw new OptionError("--hidden goes with -f, -fw or -w");
  if (!isShared && config.cors) throw new OptionError("--cors goes with -f, -fw or -w");
  if (!isShared && config.header.length > 0) throw new OptionError("--header goes with -f, -fw or -w");
  checkLocal(config, flags, isShared);
  if (config.tunnel !== null && config.resume) throw new OptionError("--resume: a persistent tunnel is opened with -t");
  if (config.tunnel !== null && config.local !== null) {
    throw new OptionError("--local goes without a tunnel, so without -t");
  }
  if (config.tunnel === null && config.expose.length > 1) {
    throw new OptionError("several -e go with -t: a tunnel without a login leads to one port");
  }
}

function checkLocal({ local, resume }: ClientConfig, { localHost }: FlagTexts, isShared: boolean): void {
  if (local !== null && !isShared) throw new OptionError("--local goes with -f, -fw or -w");
  if (local !== null && resume) throw new OptionError("--resume goes with a tunnel, and --local has none");
  // Without --local the share would be public, which is not what an address of this machine asks for.
  if (local === null && localHost !== undefined) throw new OptionError("--local-host goes with --local");
}

function explainNoIndex(folder: string): string {
  return `"${folder}" has no index.html, so visitors of its address get 404. -f ${folder} shares it as files.`;
}

function open<T extends FetchTarget>(path: string, create: () => T): T {
  try {
    return create();
  } catch (cause) {
    // A TypeError is ours and says it all; what the system says needs to be put into words.
    const reason = explainError(cause);
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
