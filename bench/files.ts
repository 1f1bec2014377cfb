/**
 * The file share beside dufs and miniserve, in one run: `deno run -A bench/files.ts [--peers <folder of binaries>]`.
 * Peers are looked for there and on the PATH; one that is missing gets rows that say so. Needs curl and wrk.
 */
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const LARGE_MIB = 512;
const ROUNDS = 5;

/** One file server, and how it is asked for the same things. */
interface Peer {
  name: string;
  command(folder: string, port: number): string[] | null;
  zipPath: string;
  upload(file: string, base: string): string[];
}

const { values } = parseArgs({ options: { peers: { type: "string", default: "" } } });

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

/** Makes what is served: a small and a large file, 10,000 entries, 1,000 files for a zip. */
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
  measure(base: string, peer: Peer, pid: number, source: string): number;
}

function runWrk(url: string, connections: number): number {
  const text = execFileSync("wrk", ["-t1", `-c${connections}`, "-d4", url], { encoding: "utf8" });
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
}

/** Median of some runs of curl for what `--write-out` tells. */
function runCurl(variable: string, args: readonly string[], rounds = ROUNDS): number {
  const results = Array.from(
    { length: rounds },
    () =>
      Number(execFileSync("curl", ["-sf", "-o", "/dev/null", "-w", `%{${variable}}`, ...args], { encoding: "utf8" })),
  );
  return results.sort((a, b) => a - b)[Math.floor(rounds / 2)];
}

/** Processor time that a process has had so far, in milliseconds (Linux). */
function readCpu(pid: number): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const HTML = ["-H", "accept: text/html"];

const ROWS: readonly Row[] = [
  {
    label: "1 kB file, 1 connection",
    unit: "/s",
    isMoreBetter: true,
    measure: (base) => runWrk(`${base}hello.txt`, 1),
  },
  {
    label: "1 kB file, 32 connections",
    unit: "/s",
    isMoreBetter: true,
    measure: (base) => runWrk(`${base}hello.txt`, 32),
  },
  {
    label: `${LARGE_MIB} MiB down`,
    unit: "MB/s",
    isMoreBetter: true,
    measure: (base) => runCurl("speed_download", [`${base}large.bin`]) / 1e6,
  },
  {
    label: `${LARGE_MIB} MiB up`,
    unit: "MB/s",
    isMoreBetter: true,
    measure: (base, peer, _, source) => runCurl("speed_upload", peer.upload(source, base)) / 1e6,
  },
  {
    label: "10,000 entries, first visit",
    unit: "ms",
    isMoreBetter: false,
    measure: (base, _, __, source) => {
      // The folder is touched before each, so that nothing made for the last visit can be shown again.
      const results = Array.from({ length: ROUNDS }, (_, round) => {
        fs.writeFileSync(path.join(path.dirname(source), "many", "touched"), String(round));
        fs.rmSync(path.join(path.dirname(source), "many", "touched"));
        return runCurl("time_total", [...HTML, `${base}many/`], 1) * 1000;
      });
      return results.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
    },
  },
  {
    label: "10,000 entries, visited again",
    unit: "ms",
    isMoreBetter: false,
    measure: (base) => runCurl("time_total", [...HTML, `${base}many/`]) * 1000,
  },
  {
    label: "zip of 1,000 files",
    unit: "ms",
    isMoreBetter: false,
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
    const columns: { name: string; cells: string[] }[] = [];
    for (const peer of PEERS) columns.push({ name: peer.name, cells: await measurePeer(peer, folder) });
    print(columns);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

async function measurePeer(peer: Peer, folder: string): Promise<string[]> {
  const running = await startPeer(peer, folder);
  if (running === null) return ROWS.map(() => "not installed");
  const { child, base } = running;
  try {
    return ROWS.map((row) => measureRow(row, peer, base, child.pid ?? 0, path.join(folder, "large.bin")));
  } finally {
    child.kill("SIGKILL");
    fs.rmSync(path.join(folder, "up.bin"), { force: true });
  }
}

function measureRow(row: Row, peer: Peer, base: string, pid: number, source: string): string {
  const before = readCpu(pid);
  const value = row.measure(base, peer, pid, source);
  const cpu = readCpu(pid) - before;
  return `${value < 100 ? value.toFixed(1) : Math.round(value)} ${row.unit} (cpu ${cpu} ms)`;
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
