import { type Command, type Program, runProgram } from "../common/command_line/mod.ts";
import type { OptionTable } from "../common/options.ts";
import { later } from "../common/later.ts";
import { PROJECT } from "../common/release.ts";
import { clientOptions } from "./config.ts";
import type { StartEmbeddedRelay } from "./expose/open_relay.ts";

/** The server's part of the program, which the entry file provides: the client does not import the server. */
export interface ServerProgram {
  commands: readonly Command[];
  startEmbeddedRelay: StartEmbeddedRelay;
}

/** Differences for callers other than `cli.ts`. */
export interface MainOptions {
  /** Whether tunnels are saved for `--resume`; true by default. */
  isKept?: boolean;
}

/**
 * Runs the `portway` command.
 * @param args the command line without the program's name
 * @returns the exit code: 0, 2 for wrong usage, 1 for other failures
 */
export async function main(
  args: readonly string[],
  server: ServerProgram,
  { isKept = true }: MainOptions = {},
): Promise<number> {
  return await runProgram(createProgram(server, isKept), args);
}

/** Creates the program with its commands, from which help, completion and the manual page are made. */
export function createProgram({ commands, startEmbeddedRelay }: ServerProgram, isKept = true): Program {
  const program: Program = {
    name: "portway",
    about: `${PROJECT}: a public URL for what runs on this machine`,
    commands: [
      {
        name: "",
        summary: "a public URL for what runs on this machine",
        usage: "-e PORT | -f PATH | -fw PATH | -w PATH | -t TUNNEL | --resume | --login [options]",
        examples: EXAMPLES,
        needsArguments: true,
        loadOptions: () => clientOptions,
        async run({ flags }) {
          const { runClient }: typeof import("./run.ts") = await import(later("./run.ts"));
          return await runClient({ flags, startEmbeddedRelay, isKept });
        },
      },
      ...commands,
      {
        name: "upgrade",
        summary: "replace this executable with the newest release",
        examples: [
          ["portway upgrade", "after its signature and checksum are verified; the old file remains beside it"],
          ["portway upgrade --check", "only show the newest release"],
        ],
        loadOptions: async () => (await loadUpgrade()).upgradeOptions,
        async run({ flags }) {
          const { runUpgrade }: typeof import("./run_upgrade.ts") = await import(later("./run_upgrade.ts"));
          return await runUpgrade(flags);
        },
      },
      {
        name: "man",
        summary: "print the manual page",
        examples: [["portway man | man -l -", "show it"]],
        loadOptions: () => NO_OPTIONS,
        run: async () => await (await loadDocuments()).printManPage(),
      },
      {
        name: "completion",
        summary: "print what makes a shell complete command lines",
        operands: ["bash|zsh|fish"],
        examples: COMPLETION_EXAMPLES,
        loadOptions: () => NO_OPTIONS,
        run: async ({ operands }) => await (await loadCompletion()).printCompletion(program, operands[0]),
      },
      {
        name: "completion names",
        summary: "print the names of tunnels or views, for the scripts of completion",
        operands: ["tunnels|views"],
        isHidden: true,
        loadOptions: () => NO_OPTIONS,
        run: async ({ operands }) => await (await loadCompletion()).printNames(operands[0]),
      },
    ],
  };
  return program;
}

async function loadUpgrade(): Promise<typeof import("./upgrade/mod.ts")> {
  const upgrade: typeof import("./upgrade/mod.ts") = await import(later("./upgrade/mod.ts"));
  return upgrade;
}

async function loadDocuments(): Promise<typeof import("./print_documents.ts")> {
  const documents: typeof import("./print_documents.ts") = await import(later("./print_documents.ts"));
  return documents;
}

async function loadCompletion(): Promise<typeof import("./completion.ts")> {
  const completion: typeof import("./completion.ts") = await import(later("./completion.ts"));
  return completion;
}

const NO_OPTIONS: OptionTable = {};

const COMPLETION_EXAMPLES = [
  ["echo 'source <(portway completion bash)' >> ~/.bashrc", "bash"],
  ["echo 'source <(portway completion zsh)' >> ~/.zshrc", "zsh, behind its line with compinit"],
  ["portway completion fish > ~/.config/fish/completions/portway.fish", "fish"],
] as const;

const EXAMPLES = [
  ["portway -e 3000", "a public URL for http://localhost:3000"],
  ["portway -e 3000 --show-qr", "the same, with a QR code for a phone"],
  ["portway -f .", "share this folder, read-only"],
  ["portway -fw inbox -p", "share a folder for uploads, with a passphrase"],
  ["portway -fw inbox --drop", "receive files from visitors who see none"],
  ["portway -w dist --spa --live", "a single-page application that reloads"],
  ["portway -f . --local", "share on the local network, without a server"],
  ["portway --resume", "the last tunnel again, under its URL"],
  ["portway --login", "log in, for tunnels that keep their name and for views"],
  ["portway -t shop -e 3000 -e 4000", "two ports through a persistent tunnel"],
  ["portway --views-tail Orders --forward 3000", "webhooks that a view captures, delivered to port 3000"],
  ["portway server --port 8787", "run a server"],
  ["portway proxy", "only the CORS proxy, on this machine"],
] as const;
