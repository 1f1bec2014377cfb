import { type Program, startProgram } from "./program.ts";
import { makeTempDir } from "./temp_dir.ts";
import { within } from "./within.ts";
import { visit } from "./visit.ts";

export interface ServerOptions {
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** A free one when not given. */
  port?: number;
  /** A fresh one, removed afterwards, when not given. */
  dataDir?: string;
}

export interface Health {
  status: string;
  sessions: number;
  streams: number;
}

/** The real server, as a process of its own. */
export interface Server extends Program {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  health(): Promise<Health>;
  /** Resolves when the server says of itself what is wanted. */
  whenHealth(isWanted: (health: Health) => boolean): Promise<Health>;
}

const POLL_MS = 50;

/** Starts the server and waits until it listens. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  await using stack = new AsyncDisposableStack();
  const dataDir = options.dataDir ?? stack.use(await makeTempDir()).path;
  const { args = [], env, port = 0 } = options;
  const program = stack.use(startProgram({
    entry: "server.ts",
    args: ["--json", "--port", String(port), "--data-dir", dataDir, ...args],
    env,
  }));
  const listening = await program.events.waitFor("listening").catch((cause) => {
    throw new Error(`the server did not start: ${program.errors.text}`, { cause });
  });
  const owned = stack.move();
  const url = String(listening.url);
  const health = async (): Promise<Health> => await (await visit(`${url}/health`)).json() as Health;
  return {
    ...program,
    url,
    port: Number(listening.port),
    dataDir,
    health,
    whenHealth: (isWanted) => within("that state of the server", pollHealth(health, isWanted)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The server prints no events of its own for these counts, so they are asked for until they fit. */
async function pollHealth(read: () => Promise<Health>, isWanted: (health: Health) => boolean): Promise<Health> {
  for (;;) {
    const health = await read();
    if (isWanted(health)) return health;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
