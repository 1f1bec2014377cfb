import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import process from "node:process";
import readline from "node:readline";
import { chooseLaunch } from "./kit/program.ts";

/** A folder of its own, gone at the end. */
export function openFolder(): { path: string } & Disposable {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "portway-test-")));
  return { path: folder, [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true, force: true }) };
}

/** The real client in a process of its own. */
export interface RunningClient extends AsyncDisposable {
  /** Where visitors go, with a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Everything printed so far. */
  readonly output: string[];
  kill(): Promise<void>;
}

/** Starts `portway` with a share or a site on a free loopback port. */
export function startLocal(...args: string[]): Promise<RunningClient> {
  return startClient([...args, "--local", "0", "--local-host", "127.0.0.1"], {});
}

/** Starts `portway` with a share or a site behind a relay of its own. */
export async function startTunnel(...args: string[]): Promise<RunningClient> {
  const config = openFolder();
  const client = await startClient(args, { PORTWAY_CONFIG_DIR: config.path });
  return {
    ...client,
    async [Symbol.asyncDispose]() {
      await client.kill();
      config[Symbol.dispose]();
    },
  };
}

/** Starts `portway` with more in its environment, and waits until it is served. */
export async function startClient(args: string[], env: Record<string, string>): Promise<RunningClient> {
  const [program, ...before] = chooseLaunch("cli.ts");
  const child = spawn(program, [...before, ...args, "--json"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const output: string[] = [];
  const url = await readUrl(child, output);
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const { href, port } = new URL(url);
  return { url: href, port: Number(port), pid: child.pid ?? 0, output, kill, [Symbol.asyncDispose]: kill };
}

function readUrl({ stdout, stderr }: ChildProcess, output: string[]): Promise<string> {
  if (stdout === null || stderr === null) throw new TypeError("the client has no output to read");
  stderr.on("data", (data) => output.push(String(data)));
  return new Promise((resolve, reject) => {
    const lines = readline.createInterface({ input: stdout });
    lines.on("line", (line) => {
      output.push(line);
      const message = JSON.parse(line);
      if (message.event === "serving" || message.event === "open") resolve(message.url);
    });
    lines.on("close", () => reject(new Error(`the client ended: ${output.join("\n")}`)));
  });
}

/** Sends bytes as they are and returns the status code and the whole of the answer. */
export function sendRaw(port: number, head: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(head, "latin1"));
    const pieces: string[] = [];
    socket.setEncoding("latin1");
    socket.on("data", (piece: string) => pieces.push(piece));
    socket.on("error", reject);
    socket.on("close", () => {
      const text = pieces.join("");
      resolve({
        status: Number(/^HTTP\/1\.1 (?!100)(\d{3})|\r\n\r\nHTTP\/1\.1 (\d{3})/.exec(text)?.slice(1).find(Boolean) ?? 0),
        text,
      });
    });
  });
}

/** A network between a visitor and a port that can be cut and mended. */
export interface Network extends AsyncDisposable {
  readonly port: number;
  /** Bytes that went to the port so far. */
  readonly sent: number;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  mend(): void;
  /** Resolves when so many bytes have gone to the port. */
  whenSent(bytes: number): Promise<void>;
}

/** Opens a network that leads to `target`, a port of this machine. */
export async function openNetwork(target: number): Promise<Network> {
  const sockets = new Set<net.Socket>();
  const waiting: { bytes: number; resolve: () => void }[] = [];
  let isCut = false;
  let sent = 0;
  const server = net.createServer((visitor) => {
    if (isCut) return void visitor.destroy();
    const onward = net.connect(target, "127.0.0.1");
    for (const socket of [visitor, onward]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        visitor.destroy();
        onward.destroy();
      });
    }
    visitor.on("data", (piece) => {
      sent += piece.length;
      for (const { bytes, resolve } of waiting) if (sent >= bytes) resolve();
    });
    visitor.pipe(onward);
    onward.pipe(visitor);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the network has no port");
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    get sent() {
      return sent;
    },
    cut,
    mend: () => isCut = false,
    whenSent: (bytes) => new Promise((resolve) => sent >= bytes ? resolve() : waiting.push({ bytes, resolve })),
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
