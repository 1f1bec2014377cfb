// Starts _test_server.ts on one runtime and sends requests with curl.
import { ok } from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import process from "node:process";
import type { ListenerLimits } from "../../limits.ts";
import type { ListenerKind } from "../../types.ts";

/** The runtime for a test program. */
export type Runtime = "deno" | "node";

/** Node strips types since 22.18. An older Node is ignored. */
const OWN = process.versions.deno === undefined ? process.execPath : undefined;
const NODES = [OWN, process.env.PORTWAY_NODE, "node"].filter((path) => path !== undefined);
/** Path to a Node that runs TypeScript (22.18 or later), or undefined. */
export const node: string | undefined = NODES.find((path) => {
  const [major, minor] = spawnSync(path, ["-p", "process.versions.node"]).stdout?.toString().split(".").map(Number) ??
    [];
  return major > 22 || (major === 22 && minor >= 18);
});

/** A server in its own process. */
export interface TestServer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** Resolves when the server has printed the line `times` times. */
  said(line: string, times?: number): Promise<void>;
  /** Fetches the counters over a separate connection. */
  stats(): Promise<{ held: number; left: number; connections: number; sockets: number }>;
  /** Resolves when `isWanted` accepts the counters. */
  whenStats(isWanted: (stats: { held: number; connections: number; sockets: number }) => boolean): Promise<void>;
  /** Continues the requests to `/hold` and `/events`, or closes the server, after which {@link ended} resolves. */
  tell(line: "release" | "close"): void;
  readonly ended: Promise<number | null>;
}

/** Starts a server with the given listener and limits. */
export async function startServer(
  runtime: Runtime,
  kind: ListenerKind,
  limits: Partial<ListenerLimits> = {},
): Promise<TestServer> {
  const script = new URL("_test_server.ts", import.meta.url).pathname;
  const [command, ...args] = runtime === "node" ? [node ?? "node"] : [process.execPath, "run", "-A"];
  const child = spawn(command, [...args, script, kind, JSON.stringify(limits)], {
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
  });
  const lines = readLines(child);
  const ended = once(child, "exit").then(([code]) => code as number | null);
  const port = Number((await lines.until((line) => line.startsWith("port "))).slice(5));
  const stats = async () => JSON.parse((await curl(["--http1.1", `https://127.0.0.1:${port}/stats`])).body);
  return {
    port,
    pid: child.pid ?? 0,
    async said(line, times = 1) {
      let seen = 0;
      await lines.until((other) => other === line && ++seen === times);
    },
    stats,
    async whenStats(isWanted) {
      while (!isWanted(await stats())) await new Promise((resolve) => setTimeout(resolve, 50));
    },
    tell: (line) => void child.stdin.write(`${line}\n`),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function readLines(child: ChildProcessWithoutNullStreams) {
  const seen: string[] = [];
  let errors = "", hasEnded = false, wake = () => {};
  createInterface(child.stdout).on("line", (line) => {
    seen.push(line);
    wake();
  }).on("close", () => {
    hasEnded = true;
    wake();
  });
  child.stderr.on("data", (chunk) => errors += chunk);
  return {
    /** Returns the first printed or later line that `isWanted` accepts. */
    async until(isWanted: (line: string) => boolean): Promise<string> {
      for (let next = 0;; next++) {
        while (next === seen.length) {
          if (hasEnded) throw new Error(`the server ended: ${errors}`);
          await new Promise<void>((resolve) => wake = resolve);
        }
        if (isWanted(seen[next])) return seen[next];
      }
    },
  };
}

/** A response to curl. */
export interface CurlResponse {
  status: number;
  /** Fields with names in lower case, in their order, as `name: value`. */
  fields: string[];
  /** One character for each byte. */
  body: string;
}

/** Sends a request with curl, without a certificate check. @throws when curl fails */
export async function curl(args: string[], body?: Uint8Array): Promise<CurlResponse> {
  const child = spawn("curl", ["-sSki", "--max-time", "60", ...args]);
  // curl may exit before it has read its whole input.
  child.stdin.on("error", () => {});
  child.stdin.end(body);
  let output = "", errors = "";
  child.stdout.setEncoding("latin1").on("data", (chunk) => output += chunk);
  child.stderr.on("data", (chunk) => errors += chunk);
  const [code] = await once(child, "close");
  ok(code === 0, `curl ${args.join(" ")}: ${errors}`);
  for (;;) {
    const end = output.indexOf("\r\n\r\n");
    const [line, ...fields] = output.slice(0, end).split("\r\n");
    const status = Number(line.split(" ")[1]);
    output = output.slice(end + 4);
    if (status >= 200) return { status, fields: fields.map(lowerName), body: output };
  }
}

const lowerName = (field: string) => field.replace(/^[^:]*/, (name) => name.toLowerCase());
