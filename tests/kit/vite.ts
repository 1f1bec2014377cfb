import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LineLog } from "./events.ts";
import { makeTempDir } from "./temp_dir.ts";
import { TextLineStream } from "./text_lines.ts";

/** The last version that runs on every Node since 18; `npx` fetches it on the first run. */
const VITE = "vite@6.4.6";

/** A real dev server with hot reload, over a small project of its own. */
export interface DevServer extends AsyncDisposable {
  readonly port: number;
  readonly log: LineLog;
  /** Writes a file of the project, by its path from the project's folder. */
  edit(file: string, text: string): Promise<void>;
}

/** Starts Vite, on the Node that npm brought. */
export async function startVite(files: Readonly<Record<string, string>>): Promise<DevServer> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTempDir()).path;
  const edit = async (file: string, text: string) => await writeFile(join(folder, file), text);
  await mkdir(join(folder, "src"));
  for (const [file, text] of Object.entries(files)) await edit(file, text);
  const port = findFreePort();
  // A process group of its own, because npx starts a shell that starts node.
  const child = new Deno.Command("setsid", {
    args: ["npx", "-y", VITE, folder, "--port", String(port), "--strictPort", "--host", "127.0.0.1"],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const log = new LineLog("the output of Vite");
  const pumps = Promise.all([child.stdout, child.stderr].map(async (bytes) => {
    const lines = bytes.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) log.add(line);
  })).then(() => log.end());
  stack.defer(async () => {
    Deno.kill(-child.pid, "SIGKILL");
    await child.status;
    await pumps;
  });
  await log.waitFor("Local:");
  const owned = stack.move();
  return { port, log, edit, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Vite cannot be told to take any free port and say which. */
function findFreePort(): number {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  listener.close();
  return listener.addr.port;
}
