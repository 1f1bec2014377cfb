/**
 * Compares the file share with dufs and miniserve in one run: `deno run -A bench/files.ts [--peers <folder>]`. The
 * program looks for peers in that folder and on PATH, and marks the rows of missing ones. Needs curl and wrk.
 */
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { readOptions } from "./options.ts";

const LARGE_MIB = 512;
const ROUNDS = 9;

/** One file server with its requests for the same tasks. */
interface Peer {
  name: string;
  command(folder: string, port: number): string[] | null;
  zipPath: string;
  upload(file: string, base: string): string[];
}

const values = readOptions({ peers: { type: "string", default: "" } });

function findBinary(name: string): string | null {
  const folders = [values.peers, ...(process.env.PATH ?? "").split(path.delimiter)].filter((folder) => folder !== "");
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file)) ?? null;
}

const CLI = fileURLToPath(new URL("../cli.ts", import.meta.url));

const PEERS: readonly Peer[] = [
  {
    name: "portway",
    command: (
      folder,
      port,
    ) => [
      process.execPath,
      "run",
      "-A",
      CLI,
      "-fw",
      folder,
      "--local",
      `${port}`,
      "--local-host",
      "127.0.0.1",
      "--json",
    ],
    zipPath: "small/?zip",
    upload: (file, base) => ["-T", file, `${base}up.bin`],
  },
  {
    name: "dufs",
    command: (folder, port) => withBinary("dufs", ["-A", "--bind", "127.0.0.1", "--port", `${port}`, folder]),
    zipPath: "small?zip",
    upload: (file, base) => ["-T", file, `${base}up.bin`],
  },
  {
    name: "miniserve",
    command: (folder, port) =>
      withBinary("miniserve", ["-q", "-u", "-o", "overwrite", "-z", "-i", "127.0.0.1", "--port", `${port}`, folder]),
    zipPath: "small/?download=zip",
    upload: (file, base) => ["-F", `file=@${file};filename=up.bin`, `${base}upload?path=/`],
  },
];

function withBinary(name: string, args: string[]): string[] | null {
  const binary = findBinary(name);
  return binary === null ? null : [binary, ...args];
}

/** Creates the served files: a small and a large file, 10,000 entries, and 1,000 files for a zip. */
function plant(folder: string): void {
  fs.mkdirSync(path.join(folder, "many"));
  fs.mkdirSync(path.join(folder, "small"));
  fs.writeFileSync(path.join(folder, "hello.txt"), "x".repeat(1024));
  for (let index = 0; index < 10_000; index++) fs.writeFileSync(path.join(folder, "many", `file-${index}.txt`), "x");
  const piece = crypto.getRandomValues(new Uint8Array(65_536));
  for (let index = 0; index < 1000; index++) {
    fs.writeFileSync(path.join(folder, "small", `${index}.bin`), piece.subarray(0, 10_000));
  }
  const fd = fs.openSync(path.join(folder, "large.bin"), "w");
  for (let count = 0; count < LARGE_MIB * 16; count++) fs.writeSync(fd, piece);
  fs.closeSync(fd);
}

interface Row {
  label: string;
  unit: string;
  isMoreBetter: boolean;
  /** Measurements per peer, in turn. The median counts. */
  rounds: number;
  measure(base: string, peer: Peer, pid: number, source: string): number;
}

function runWrk(url: string, connections: number): number {
  const text = execFileSync("wrk", ["-t1", `-c${connections}`, "-d4", url], { encoding: "utf8" });
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
}

/** Runs curl and returns one `--write-out` variable. */
function runCurl(variable: string, args: readonly string[]): number {
  const command = ["-sf", "-o", "/dev/null", "-w", `%{${variable}}`, ...args];
  return Number(execFileSync("curl", command, { encoding: "utf8" }));
}

/** Returns a process's CPU time so far, in milliseconds (Linux). */
function readCpu(pid: number): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const HTML = ["-H", "accept: text/html"];
const GZIP = ["-H", "accept-encoding: gzip"];

const ROWS: readonly Row[] = [
  {
    label: "1 kB file, 1 connection",
    unit: "/s",
    isMoreBetter: true,
    rounds: 1,
    measure: (base) => runWrk(`${base}hello.txt`, 1),
  },
  {
    label: "1 kB file, 32 connections",
    unit: "/s",
    isMoreBetter: true,
    rounds: 1,
    measure: (base) => runWrk(`${base}hello.txt`, 32),
  },
  {
    label: `${LARGE_MIB} MiB down`,
    unit: "MB/s",
    isMoreBetter: true,
    rounds: ROUNDS,
    measure: (base) => runCurl("speed_download", [`${base}large.bin`]) / 1e6,
  },
  {
    label: `${LARGE_MIB} MiB up`,
    unit: "MB/s",
    isMoreBetter: true,
    rounds: ROUNDS,
    measure: (base, peer, _, source) => {
      // Earlier uploads must not be on their way to the disk any more.
      fs.rmSync(path.join(path.dirname(source), "up.bin"), { force: true });
      execFileSync("sync");
      return runCurl("speed_upload", peer.upload(source, base)) / 1e6;
    },
  },
  {
    label: "10,000 entries, first visit",
    unit: "ms",
    isMoreBetter: false,
    rounds: ROUNDS,
    measure: (base, _, __, source) => {
      // A new time on the folder prevents results from a cache.
      fs.writeFileSync(path.join(path.dirname(source), "many", "touched"), "");
      fs.rmSync(path.join(path.dirname(source), "many", "touched"));
      return runCurl("time_total", [...HTML, `${base}many/`]) * 1000;
    },
  },
  {
    label: "10,000 entries, visited again",
    unit: "ms",
    isMoreBetter: false,
    rounds: ROUNDS,
    measure: (base) => runCurl("time_total", [...HTML, `${base}many/`]) * 1000,
  },
  {
    label: "10,000 entries, first visit, gzip taken",
    unit: "ms",
    isMoreBetter: false,
    rounds: ROUNDS,
    measure: (base, _, __, source) => {
      fs.writeFileSync(path.join(path.dirname(source), "many", "touched"), "");
      fs.rmSync(path.join(path.dirname(source), "many", "touched"));
      return runCurl("time_total", [...HTML, ...GZIP, `${base}many/`]) * 1000;
    },
  },
  {
    label: "10,000 entries, bytes with gzip taken",
    unit: "kB",
    isMoreBetter: false,
    rounds: 1,
    measure: (base) => runCurl("size_download", [...HTML, ...GZIP, `${base}many/`]) / 1000,
  },
  {
    label: "zip of 1,000 files",
    unit: "ms",
    isMoreBetter: false,
    rounds: ROUNDS,
    measure: (base, { zipPath }) => runCurl("time_total", [`${base}${zipPath}`]) * 1000,
  },
];

async function startPeer(peer: Peer, folder: string): Promise<{ child: ChildProcess; base: string } | null> {
  const port = await findPort();
  const command = peer.command(folder, port);
  if (command === null) return null;
  const child = spawn(command[0], command.slice(1), { stdio: "ignore" });
  for (let tries = 0; tries < 200 && !await accepts(port); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { child, base: `http://127.0.0.1:${port}/` };
}

function findPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => address !== null && typeof address === "object" ? resolve(address.port) : reject(address));
    });
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

async function main(): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-bench-"));
  try {
    plant(folder);
    print(await measureAll(folder));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** A peer with its measurements. */
interface Run {
  peer: Peer;
  running: Awaited<ReturnType<typeof startPeer>>;
  cells: string[];
}

/** Results from all rounds in one row. */
interface Result {
  values: number[];
  /** CPU time in all rounds, in milliseconds. */
  cpu: number;
}

/** Measures row by row, with all peers in turn, so that other load on the machine affects all alike. */
async function measureAll(folder: string): Promise<{ name: string; cells: string[] }[]> {
  const source = path.join(folder, "large.bin");
  const runs: Run[] = [];
  try {
    for (const peer of PEERS) runs.push({ peer, running: await startPeer(peer, folder), cells: [] });
    for (const row of ROWS) {
      const results = new Map(runs.map((run): [Run, Result] => [run, { values: [], cpu: 0 }]));
      for (let round = 0; round < row.rounds; round++) {
        for (const [run, result] of results) measureOnce(row, run, source, result);
      }
      for (const [run, result] of results) run.cells.push(describeResult(row, result));
    }
  } finally {
    for (const { running } of runs) running?.child.kill("SIGKILL");
  }
  return runs.map(({ peer, cells }) => ({ name: peer.name, cells }));
}

/** Adds one value for a peer, with its CPU time. */
function measureOnce(
  row: Row,
  { peer, running }: Run,
  source: string,
  result: { values: number[]; cpu: number },
): void {
  if (running === null) return;
  const pid = running.child.pid ?? 0;
  const before = readCpu(pid);
  result.values.push(row.measure(running.base, peer, pid, source));
  result.cpu += readCpu(pid) - before;
}

function describeResult(row: Row, { values, cpu }: Result): string {
  if (values.length === 0) return "not installed";
  const value = values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
  return `${value < 100 ? value.toFixed(1) : Math.round(value)} ${row.unit} (cpu ${
    Math.round(cpu / values.length)
  } ms)`;
}

function print(columns: readonly { name: string; cells: string[] }[]): void {
  const lines = [
    ["", ...columns.map(({ name }) => name)],
    ...ROWS.map((row, index) => [row.label, ...columns.map(({ cells }) => cells[index])]),
  ];
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const text = lines.map((line) => `| ${line.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |`);
  text.splice(1, 0, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`);
  process.stdout.write(text.join("\n") + "\n");
}

await main();
