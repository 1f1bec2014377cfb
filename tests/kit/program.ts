import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TextLineStream } from "./text_lines.ts";
import { createEventLog, type EventLog, LineLog } from "./events.ts";
import { within } from "./within.ts";

export interface ProgramOptions {
  /** Path from the project's root. */
  entry: "server.ts" | "cli.ts" | "scripts/demo.ts" | `tests/kit/${string}`;
  args: readonly string[];
  /** Added to the environment, from which everything of Portway's and every proxy has been taken. */
  env?: Readonly<Record<string, string>>;
}

/** A program of ours that runs as a process of its own. Disposing of it kills it. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  /** Standard output, by lines. */
  readonly output: LineLog;
  /** Standard error, by lines. */
  readonly errors: LineLog;
  /** Standard output as events. */
  readonly events: EventLog;
  kill(signal: Deno.Signal): void;
  /** Resolves when it has ended and all its output is there. */
  readonly ended: Promise<{ code: number; signal: Deno.Signal | null }>;
}

const root = new URL("../../", import.meta.url);

/** How an entry is started: the program, and its arguments before those of ours. */
type Launch = readonly [program: string, ...args: string[]];

/** An installed package that takes the place of the source. */
export interface InstalledPackage {
  /** Runs its modules. */
  node: string;
  /** Its folder. */
  folder: string;
  /** The entry that it takes the place of; all when left out. */
  part?: "cli.ts" | "server.ts";
}

/** An executable that replaces the source. */
export interface Executable {
  /** The executable with its path, behind the programs that start it, such as an emulator. */
  command: readonly string[];
  /** Variables for each of its processes. */
  env: Readonly<Record<string, string>>;
}

let executableHere: Executable | null = null;

/** Runs the executable in place of the kit's programs while `work` runs. Its server is a command. */
export async function withExecutable<T>(executable: Executable, work: () => Promise<T>): Promise<T> {
  executableHere = executable;
  try {
    return await work();
  } finally {
    executableHere = null;
  }
}

/** For the tests of this file alone: the environment is that of all files that run at the same time. */
let installedHere: InstalledPackage | null = null;

/** While `work` runs, programs of the kit are the package's. */
export async function withInstalled<T>(installed: InstalledPackage, work: () => Promise<T>): Promise<T> {
  installedHere = installed;
  try {
    return await work();
  } finally {
    installedHere = null;
  }
}

/**
 * The source under the same Deno that runs the test, quietly: what Deno fetches for itself is no output of ours. Or an
 * installed package under Node, where these variables name one, so that the same tests hold what is shipped.
 */
export function chooseLaunch(entry: ProgramOptions["entry"]): Launch {
  if (executableHere !== null) {
    const [program, ...before] = executableHere.command;
    return [program, ...before, ...(entry === "server.ts" ? ["server"] : [])];
  }
  const { node, folder, part } = installedHere ??
    { node: Deno.env.get("PORTWAY_TEST_NODE"), folder: Deno.env.get("PORTWAY_TEST_PACKAGE"), part: undefined };
  if (!node || !folder || (part ?? entry) !== entry) {
    return [Deno.execPath(), "run", "--quiet", "-A", fileURLToPath(new URL(entry, root))];
  }
  return [node, join(folder, entry.replace(/\.ts$/, ".js"))];
}

/** Starts a program of ours. */
export function startProgram({ entry, args, env = {} }: ProgramOptions): Program {
  const [program, ...before] = chooseLaunch(entry);
  const child = new Deno.Command(program, {
    args: [...before, ...args],
    cwd: root,
    clearEnv: true,
    env: { ...cleanEnvironment(), ...executableHere?.env, ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const name = `${entry} ${args.join(" ")}`;
  const output = new LineLog(`the output of ${name}`), errors = new LineLog(`the errors of ${name}`);
  const ended = Promise.all([child.status, pump(child.stdout, output), pump(child.stderr, errors)])
    .then(([{ code, signal }]) => ({ code, signal }));
  let isRunning = true;
  ended.finally(() => isRunning = false);
  const kill = (signal: Deno.Signal) => {
    if (isRunning) child.kill(signal);
  };
  return {
    pid: child.pid,
    output,
    errors,
    events: createEventLog(output),
    kill,
    ended,
    async [Symbol.asyncDispose]() {
      try {
        kill("SIGKILL");
      } catch (error) {
        // It has ended just now.
        if (!(error instanceof Deno.errors.NotFound) && !(error instanceof TypeError)) throw error;
      }
      await ended;
    },
  };
}

/** Runs a program of ours to its end. */
export async function runProgram(
  options: ProgramOptions,
): Promise<{ code: number; output: string; errors: string }> {
  await using program = startProgram(options);
  const { code } = await within(`the end of ${options.entry} ${options.args.join(" ")}`, program.ended);
  return { code, output: program.output.text, errors: program.errors.text };
}

function cleanEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) => !/^PORTWAY_|_proxy$|^NODE_EXTRA_CA_CERTS$/i.test(name)),
  );
}

async function pump(bytes: ReadableStream<Uint8Array<ArrayBuffer>>, log: LineLog): Promise<void> {
  const lines = bytes.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) log.add(line);
  log.end();
}
