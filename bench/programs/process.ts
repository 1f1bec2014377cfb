import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";

/** Kept output in characters, to search for readiness messages. */
const MAX_KEPT = 64 * 1024;
const READY_MS = 30_000;

/** A program in the benchmark. The harness reads its output continuously, like a terminal. */
export interface Program {
  readonly pid: number;
  /**
   * Waits until the program has printed a match for `pattern`.
   * @param withinMs half a minute by default
   * @throws Error with the program's output when it ends first or does not print it in time
   */
  until(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>;
  /** The last complete line; "" without one. */
  lastLine(): string;
  /** Writes a line to its standard input. */
  send(line: string): void;
  /** Ends the program, with SIGKILL after two seconds. Resolves after its end. */
  stop(): Promise<void>;
}

export interface ProgramOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Sends standard output to /dev/null instead of reading it. */
  silent?: boolean;
}

const running = new Set<ChildProcess>();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

/** Starts a program. Both end together at the latest. */
export function startProgram(command: string, args: readonly string[], options: ProgramOptions = {}): Program {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["pipe", options.silent === true ? "ignore" : "pipe", "pipe"],
  });
  running.add(child);
  let text = "", last: Uint8Array = new Uint8Array(), ended = false, stopping = false;
  const listeners = new Set<() => void>();
  const tell = () => listeners.forEach((listener) => listener());
  const take = (data: Uint8Array) => {
    last = data;
    if (text.length >= MAX_KEPT) return;
    text += data.toString();
    tell();
  };
  child.stdout?.on("data", take);
  child.stderr?.on("data", take);
  const end = () => {
    running.delete(child);
    ended = true;
    if (!stopping) process.stderr.write(`${command} ${args.join(" ")}: it has ended: ${last.toString().slice(-500)}\n`);
    tell();
  };
  child.on("error", (error) => {
    text += error.message;
    end();
  });
  child.on("exit", end);

  return {
    pid: child.pid ?? 0,
    until: (pattern, withinMs = READY_MS) =>
      new Promise((resolve, reject) => {
        const finish = (result: RegExpExecArray | string) => {
          clearTimeout(timer);
          listeners.delete(look);
          if (typeof result !== "string") resolve(result);
          else reject(new Error(`${command} ${args.join(" ")}: ${result}: ${text.slice(-500)}`));
        };
        const look = () => {
          const match = pattern.exec(text);
          if (match !== null) finish(match);
          else if (ended) finish("it ended before it was ready");
        };
        const timer = setTimeout(finish, withinMs, "it is not ready in time");
        listeners.add(look);
        look();
      }),
    lastLine: () => last.toString().trimEnd().split("\n").at(-1) ?? "",
    send: (line) => void child.stdin?.write(`${line}\n`),
    async stop() {
      stopping = true;
      if (ended) return;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 2000);
      await once(child, "exit");
      clearTimeout(timer);
    },
  };
}

/** Runs a program to its end and returns its output, or null when it cannot run or fails. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<string | null> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let text = "";
  child.stdout.on("data", (data: Uint8Array) => text += data.toString());
  child.stderr.on("data", (data: Uint8Array) => text += data.toString());
  const code = await new Promise<number | null>((resolve) => {
    child.on("close", resolve);
    child.on("error", () => resolve(null));
  });
  running.delete(child);
  return code === 0 ? text : null;
}
