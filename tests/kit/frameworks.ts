import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { LineLog } from "./events.ts";
import { findFreePort } from "./free_port.ts";
import { makeTempDir } from "./temp_dir.ts";
import { TextLineStream } from "./text_lines.ts";

/** A program of somebody else that serves HTTP, with what it printed. */
export interface Framework extends AsyncDisposable {
  readonly port: number;
  readonly log: LineLog;
}

/** One with hot reload, over a small project of its own. */
export interface DevServer extends Framework {
  /** Writes a file of the project, by its path from the project's folder. */
  edit(file: string, text: string): Promise<void>;
}

/**
 * Whether a command succeeds: for programs that no package of ours brings. Says on standard output what is missing.
 * @param needs what for, as in a sentence
 */
export async function isThere(command: string, args: readonly string[], needs: string): Promise<boolean> {
  const run = async () => await new Deno.Command(command, { args: [...args], stdout: "null", stderr: "null" }).output();
  // What is not there at all is told by an error.
  const { success } = await run().catch(() => ({ success: false }));
  if (!success) process.stdout.write(`left out: "${[command, ...args].join(" ")}" fails, which ${needs} needs\n`);
  return success;
}

/** Starts a program, and waits for the line that says it listens. */
export async function startFramework(
  command: readonly string[],
  port: number,
  isReady: string | RegExp,
  folder: string,
): Promise<Framework> {
  // A process group of its own, because some start others.
  const child = new Deno.Command("setsid", {
    args: [...command],
    cwd: folder,
    env: { NO_COLOR: "1", PYTHONUNBUFFERED: "1", NEXT_TELEMETRY_DISABLED: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const log = new LineLog(`the output of ${command[0]}`);
  const pumps = Promise.all([child.stdout, child.stderr].map(async (bytes) => {
    const lines = bytes.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) log.add(line);
  })).then(() => log.end());
  const stop = async () => {
    Deno.kill(-child.pid, "SIGKILL");
    await child.status;
    await pumps;
  };
  try {
    await log.waitFor(isReady);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, log, [Symbol.asyncDispose]: stop };
}

/** Starts a Python program that takes its port as its argument and prints `ready`. */
export async function startPythonApp(text: string): Promise<Framework> {
  const port = findFreePort();
  return await startFramework(["python3", "-c", text, String(port)], port, "ready", tmpdir());
}

/** Starts nginx with the inside of a `server` block. */
export async function startNginxServer(block: string): Promise<Framework> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTempDir()).path;
  const port = findFreePort();
  await mkdir(join(folder, "folder"));
  await writeFile(join(folder, "folder/index.html"), "<p>in the folder</p>");
  await writeFile(
    join(folder, "nginx.conf"),
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr notice;
events {}
http {
  access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server { listen 127.0.0.1:${port}; root ${folder}; ${block} }
}
`,
  );
  const command = ["nginx", "-p", folder, "-c", join(folder, "nginx.conf")];
  const nginx = stack.use(await startFramework(command, port, /start worker process|event method/, folder));
  const owned = stack.move();
  return { ...nginx, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Writes files of a project. @returns how to write one more */
async function writeProject(folder: string, files: Readonly<Record<string, string>>): Promise<DevServer["edit"]> {
  const edit = async (file: string, text: string) => {
    const path = join(folder, file);
    await mkdir(dirname(path), { recursive: true });
    // Whole at once: a server that watches takes up a file that is still empty.
    await writeFile(`${path}~`, text);
    await rename(`${path}~`, path);
  };
  for (const [file, text] of Object.entries(files)) await edit(file, text);
  return edit;
}

/** The last version that runs on every Node since 18; `npx` fetches it on the first run. */
const VITE = "vite@6.4.6";

/** Starts Vite's dev server, on the Node that npm brought, over a project of these files. */
export async function startVite(files: Readonly<Record<string, string>>): Promise<DevServer> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTempDir()).path;
  const edit = await writeProject(folder, files);
  const port = findFreePort();
  const command = ["npx", "-y", VITE, folder, "--port", String(port), "--strictPort", "--host", "127.0.0.1"];
  const vite = stack.use(await startFramework(command, port, "Local:", folder));
  const owned = stack.move();
  return { ...vite, edit, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** One version of everything, so that a run today and one next year see the same. */
const NEXT = { next: "16.4.6", react: "19.3.1", "react-dom": "19.3.1" };

/** Starts Next's dev server over a project of these files. Its packages are fetched once for all runs. */
export async function startNext(files: Readonly<Record<string, string>>): Promise<DevServer> {
  await using stack = new AsyncDisposableStack();
  const packages = await installNext();
  // Below the packages: Next takes none from outside of its project.
  const folder = join(packages, `project-${crypto.randomUUID()}`);
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const edit = await writeProject(folder, { ...files, "package.json": "{}" });
  const port = findFreePort();
  const command = [join(packages, "node_modules/.bin/next"), "dev", folder, "-p", String(port), "-H", "127.0.0.1"];
  const next = stack.use(await startFramework(command, port, "Ready", folder));
  const owned = stack.move();
  return { ...next, edit, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function installNext(): Promise<string> {
  const folder = join(tmpdir(), `portway-next-${NEXT.next}`);
  if (existsSync(join(folder, "node_modules"))) return folder;
  // Whoever is first to have all of it gives it its name.
  const fresh = `${folder}-${crypto.randomUUID()}`;
  await mkdir(fresh);
  const args = ["install", "--no-audit", "--no-fund", "--prefix", fresh];
  const versions = Object.entries(NEXT).map(([name, version]) => `${name}@${version}`);
  const { success, stderr } = await new Deno.Command("npm", { args: [...args, ...versions], cwd: fresh }).output();
  if (!success) throw new Error(`cannot install Next: ${new TextDecoder().decode(stderr)}`);
  await rename(fresh, folder).catch(() => rm(fresh, { recursive: true }));
  return folder;
}
