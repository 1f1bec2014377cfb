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

/** The folder, file or site that the command line shares. */
export interface Shared {
  /** The name for the user. */
  readonly name: string;
  readonly target: FetchTarget;
  /** A warning for the user before visitors come; null for none. */
  readonly note: string | null;
}

/** Flags that select the target; at most one may be given. */
const KINDS = ["expose", "files", "filesWrite", "web"] as const;

/**
 * Opens the target of `-f`, `-fw` or `-w`; null without these flags.
 * @param flags the given flags; absent ones have their default, or a value from the environment
 * @throws OptionError for flags that exclude each other, CommandError when the target cannot be shared
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
    // Loaded on demand, because a tunnel to a port does not need this code.
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

/** Returns the environment for a run: a passphrase in it, even an empty one, applies only to runs that share files. */
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
  // A passphrase without effect would suggest protection that does not exist.
  if (!isShared && flags.passphrase !== undefined) {
    throw new OptionError("-p needs -f, -fw or -w");
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
  // Without --local the share would be public, although its user names a local address.
  if (local === null && localHost !== undefined) throw new OptionError("--local-host goes with --local");
}

function explainNoIndex(folder: string): string {
  return `"${folder}" has no index.html, so visitors of its address get 404. -f ${folder} shares it as files.`;
}

function open<T extends FetchTarget>(path: string, create: () => T): T {
  try {
    return create();
  } catch (cause) {
    // Portway's own TypeError is complete; a system error needs an explanation.
    const reason = explainError(cause);
    throw new CommandError(cause instanceof TypeError ? reason : `cannot share "${path}": ${reason}`, { cause });
  }
}

/** Returns the passphrase from the flag or the environment, or asks for it if the flag has no value. */
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

/** Represents `-p` without a value. A flag's value never begins with a dash; the environment's may. */
const ASK = clientOptions.passphrase.bare;
