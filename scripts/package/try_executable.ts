import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { CompileFailed } from "./compile_failed.ts";

/** A program that takes longer for its trial hangs. */
const TIMEOUT_MS = 60_000;
const RESPONSE = "the response of the local service";

/**
 * Runs an executable that was built for this machine: `--version` must print the release, and `-e` must carry a request
 * to a local service.
 * @throws CompileFailed with the difference
 */
export async function tryExecutable(file: string, version: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "portway-trial-"));
  try {
    const { stdout, error } = spawnSync(file, ["--version"], {
      encoding: "utf8",
      timeout: TIMEOUT_MS,
      env: cleanEnv(),
    });
    const printed = error === undefined ? stdout.trim().split("\n")[0] : error.message;
    if (printed !== version) {
      throw new CompileFailed(`the executable does not run: --version printed "${printed}" and not "${version}"`);
    }
    await tryTunnel(file, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryTunnel(file: string, folder: string): Promise<void> {
  const service = createServer((_, response) => response.end(RESPONSE)).listen(0, "127.0.0.1");
  await once(service, "listening");
  const { port } = service.address() as AddressInfo;
  const client = spawn(file, ["-e", String(port), "--json", "--config-dir", folder], {
    env: cleanEnv(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const timer = setTimeout(() => client.kill("SIGKILL"), TIMEOUT_MS);
  try {
    const url = await readPublicUrl(client);
    if (await request(url) !== RESPONSE) throw new CompileFailed(`the executable does not run: -e changed a response`);
  } finally {
    clearTimeout(timer);
    await end(client, service);
  }
}

/** Reads the program's events up to the public URL. */
async function readPublicUrl({ stdout }: ChildProcess): Promise<URL> {
  if (stdout === null) throw new TypeError("the program's output is no pipe");
  for await (const line of createInterface({ input: stdout })) {
    const { event, url }: { event?: string; url?: string } = line.startsWith("{") ? JSON.parse(line) : {};
    if (event === "open" && url !== undefined) return new URL(url);
  }
  throw new CompileFailed("the executable does not run: -e opened no tunnel");
}

/** The host's name is one below `localhost`, which not every system resolves. */
async function request({ port, host }: URL): Promise<string> {
  const asked = get({ host: "127.0.0.1", port, headers: { host }, agent: false });
  const [response] = await once(asked, "response") as [IncomingMessage];
  return await text(response);
}

async function end(client: ChildProcess, service: Server): Promise<void> {
  const ended = client.exitCode === null && client.signalCode === null ? once(client, "exit") : null;
  client.kill("SIGKILL");
  await ended;
  service.closeAllConnections();
  service.close();
}

/** The trial is not about this shell's settings. */
function cleanEnv(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^PORTWAY_|_proxy$/i.test(name)));
}
