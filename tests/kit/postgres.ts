import { readdirSync } from "node:fs";
import { chmod, chown, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { LineLog } from "./events.ts";
import { findFreePort } from "./free_port.ts";
import { makeTempDir } from "./temp_dir.ts";
import { TextLineStream } from "./text_lines.ts";
import { within } from "./within.ts";

/** A real PostgreSQL with an empty cluster of its own. Disposing of it ends it and removes all. */
export interface Postgres extends AsyncDisposable {
  readonly port: number;
  /** Whose password is {@link PASSWORD}: everybody has to show it. */
  readonly user: string;
  /** Makes an empty database. @returns its URL, with the password in it */
  createDatabase(): Promise<string>;
  /** Ends the server as a crash would, cutting all connections; what it has stays. */
  stop(): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
}

/** Looked for in what programs print: it must never be there. */
export const PASSWORD = "pass:word/of the@test";

const USER = "portway";

/**
 * Why no PostgreSQL can be started here, or null. Tests that need one are ignored then, having said so on standard
 * output.
 */
export function postgresMissing(): string | null {
  if (found === undefined) {
    found = findPrograms();
    if (found === null) process.stdout.write("left out: what needs PostgreSQL, as there is no initdb here\n");
  }
  return found === null ? "there is no initdb here" : null;
}

let found: string | null | undefined;

/** The folder of PostgreSQL's programs, which Debian does not put on PATH. */
function findPrograms(): string | null {
  const debian = "/usr/lib/postgresql";
  const versions = readFolder(debian).sort((one, other) => Number(other) - Number(one));
  const folders = [
    ...(Deno.env.get("PATH") ?? "").split(delimiter),
    ...versions.map((version) => join(debian, version, "bin")),
  ];
  return folders.find((folder) => {
    const programs = readFolder(folder);
    return ["initdb", "postgres", "createdb"].every((program) => programs.includes(program));
  }) ?? null;
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    // What cannot be read has no programs for us.
    return [];
  }
}

/** Starts a PostgreSQL of its own. @throws Error when there is none: see {@link postgresMissing} */
export async function startPostgres(): Promise<Postgres> {
  const programs = findPrograms();
  if (programs === null) throw new Error("there is no PostgreSQL here");
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await makeTempDir());
  const identity = await findIdentity();
  await chmod(folder, 0o700);
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, PASSWORD);
  if (identity !== null) { for (const path of [folder, passwordFile]) await chown(path, identity.uid, identity.gid); }
  const run = (program: string, args: string[]) =>
    new Deno.Command(join(programs, program), {
      args,
      cwd: folder,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      ...identity,
    });
  const data = join(folder, "data");
  await succeed(run("initdb", ["-D", data, "-U", USER, "-A", "scram-sha-256", `--pwfile=${passwordFile}`, "-N"]));
  const port = findFreePort();
  const args = ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", folder, "-c", "fsync=off"];
  let server: { stop(): Promise<void> } | null = null;
  const start = async () => void (server = await startServer(run("postgres", args)));
  const stop = async () => {
    await server?.stop();
    server = null;
  };
  stack.defer(stop);
  await start();
  const url = (database: string) => `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
  let databases = 0;
  const owned = stack.move();
  return {
    port,
    user: USER,
    async createDatabase() {
      const name = `test_${++databases}`;
      const create = ["-h", "127.0.0.1", "-p", String(port), "-U", USER, name];
      await succeed(
        new Deno.Command(join(programs, "createdb"), { args: create, stdin: "null", env: { PGPASSWORD: PASSWORD } }),
      );
      return url(name);
    },
    start,
    stop,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** PostgreSQL refuses to run as root: then it is Debian's user for it, or nobody. */
async function findIdentity(): Promise<{ uid: number; gid: number } | null> {
  if (Deno.uid() !== 0) return null;
  const read = async (flag: string, user: string) => {
    const { success, stdout } = await new Deno.Command("id", { args: [flag, user], stderr: "null" }).output();
    return success ? Number(new TextDecoder().decode(stdout)) : null;
  };
  for (const user of ["postgres", "nobody"]) {
    const uid = await read("-u", user), gid = await read("-g", user);
    if (uid !== null && gid !== null) return { uid, gid };
  }
  throw new Error("there is no user that PostgreSQL could run as");
}

async function succeed(command: Deno.Command): Promise<void> {
  const { success, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

async function startServer(command: Deno.Command): Promise<{ stop(): Promise<void> }> {
  const child = command.spawn();
  const log = new LineLog("the output of PostgreSQL");
  const pumps = [child.stdout, child.stderr].map(async (bytes) => {
    const lines = bytes.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) log.add(line);
  });
  Promise.all(pumps).then(() => log.end());
  const stop = async () => {
    // Immediate shutdown: SIGKILL would leave its shared memory behind.
    child.kill("SIGQUIT");
    await within("the end of PostgreSQL", child.status);
    await log.whenEnded();
  };
  try {
    await log.waitFor("database system is ready to accept connections");
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}
