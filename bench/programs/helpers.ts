import { join } from "node:path";
import process from "node:process";
import { type Program, startProgram } from "./process.ts";

const FOLDER = import.meta.dirname ?? ".";
/** The project's folder. */
export const ROOT = join(FOLDER, "../..");
/** The Deno executable that runs this benchmark. */
export const DENO = process.execPath;

/** A harness program with its port. */
export interface Helper extends Program {
  port: number;
}

/** The local service. */
export const startService = (): Promise<Helper> => startHelper("_service.ts");

/** A TCP relay to `port` that delivers every byte `delayMs` later, each way. */
export const startDelay = (port: number, delayMs: number): Promise<Helper> =>
  startHelper("_delay.ts", String(port), String(delayMs));

async function startHelper(file: string, ...args: string[]): Promise<Helper> {
  const program = startProgram(DENO, ["run", "-A", join(FOLDER, file), ...args]);
  const [, port] = await program.until(/port (\d+)/);
  return { ...program, port: Number(port) };
}
