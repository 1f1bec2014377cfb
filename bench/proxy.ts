/**
 * Compares the proxy in one run with cors-anywhere from npm and with ten lines of `fetch` without checks and limits:
 * `deno run -A bench/proxy.ts [--seconds 4] [--rounds 2]`. All use the same local upstream. `wrk` loads them in turn,
 * and the program prints medians.
 */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PEER = "cors-anywhere@0.4.4";
const BULK_BYTES = 100_000_000;
const CONNECTIONS = [1, 32, 128];
/** Times in /proc/<pid>/stat count in 10 ms ticks on every Linux. */
const TICK_US = 10_000;

interface Program {
  name: string;
  process: Deno.ChildProcess;
  pid: number;
  /** Returns a wrk script that requests an upstream path, and the URL for it. */
  load(path: string, stream: boolean): { script: string; url: string };
}

interface Load {
  perSecond: number;
  p99Ms: number;
  cpuUs: number;
}

const folder = await Deno.makeTempDir({ prefix: "portway-bench-" });
const seconds = readFlag("--seconds", 4);
const rounds = readFlag("--rounds", 2);

function readFlag(name: string, fallback: number): number {
  const at = Deno.args.indexOf(name);
  return at === -1 ? fallback : Number(Deno.args[at + 1]);
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

async function readLine(child: Deno.ChildProcess): Promise<string> {
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  return new TextDecoder().decode(value);
}

function start(command: string, args: string[]): Deno.ChildProcess {
  return new Deno.Command(command, { args, stdout: "piped", stderr: "null", stdin: "null" }).spawn();
}

const UPSTREAM = `const big = new Uint8Array(${BULK_BYTES});
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} },
  (request) => new Response(request.url.endsWith("/big") ? big : "hello world\\n"));
console.log(server.addr.port);`;

async function startUpstream(): Promise<{ process: Deno.ChildProcess; url: string }> {
  const file = join(folder, "upstream.ts");
  await Deno.writeTextFile(file, UPSTREAM);
  const process = start(Deno.execPath(), ["run", "-A", file]);
  return { process, url: `http://127.0.0.1:${Number(await readLine(process))}` };
}

/** Returns the JSON description for our two proxies. */
function describe(port: number, upstream: string): Program["load"] {
  return (path, stream) => {
    const description = JSON.stringify({ method: "GET", url: upstream + path, ...(stream ? { stream } : {}) });
    const script = `wrk.method = "POST"\nwrk.headers["origin"] = "http://app.test"\n` +
      `wrk.headers["content-type"] = "application/json"\nwrk.body = '${description}'\n`;
    return { script, url: `http://127.0.0.1:${port}/proxy/request` };
  };
}

async function startPortway(upstream: string): Promise<Program> {
  const flags = ["--port", "0", "--json", "--proxy-allow", "127.0.0.1"];
  const process = start(Deno.execPath(), ["run", "-A", "--no-check", "cli.ts", "proxy", ...flags]);
  const { port } = JSON.parse(await readLine(process));
  return { name: "portway", process, pid: process.pid, load: describe(port, upstream) };
}

/** A minimal proxy: no guard, no limits, no timeouts, no response metadata. */
const BARE = `const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  const { url, method } = await request.json();
  const answer = await fetch(url, { method, redirect: "manual" });
  const headers = new Headers(answer.headers);
  headers.set("access-control-allow-origin", "*");
  return new Response(answer.body, { status: answer.status, headers });
});
console.log(server.addr.port);`;

async function startBare(upstream: string): Promise<Program> {
  const file = join(folder, "bare.ts");
  await Deno.writeTextFile(file, BARE);
  const process = start(Deno.execPath(), ["run", "-A", file]);
  return {
    name: "Deno with fetch, no guard",
    process,
    pid: process.pid,
    load: describe(Number(await readLine(process)), upstream),
  };
}

async function startPeer(upstream: string): Promise<Program> {
  const cache = join(tmpdir(), "portway-bench-peers");
  await Deno.mkdir(cache, { recursive: true });
  await new Deno.Command("npm", { args: ["install", "--prefix", cache, "--no-audit", "--no-fund", "--silent", PEER] })
    .output();
  const file = join(cache, "cors-anywhere.cjs");
  await Deno.writeTextFile(
    file,
    `const server = require("cors-anywhere").createServer({ requireHeader: ["origin"], removeHeaders: ["cookie"] });
server.listen(0, "127.0.0.1", () => console.log(server.address().port));`,
  );
  const process = start("node", [file]);
  const port = Number(await readLine(process));
  return {
    name: PEER,
    process,
    pid: process.pid,
    load: (path) => ({
      script: `wrk.headers["origin"] = "http://app.test"\n`,
      url: `http://127.0.0.1:${port}/${upstream}${path}`,
    }),
  };
}

function readCpuUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

async function runLoad(program: Program, connections: number): Promise<Load> {
  const { script, url } = program.load("/", false);
  const file = join(folder, "load.lua");
  const report =
    `done = function(summary, latency) io.write(string.format("%d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(99), summary.errors.status)) end\n`;
  await Deno.writeTextFile(file, script + report);
  const before = readCpuUs(program.pid);
  const threads = String(Math.min(2, connections));
  const args = ["-t", threads, "-c", String(connections), "-d", `${seconds}s`, "-s", file, url];
  const { stdout } = await new Deno.Command("wrk", { args }).output();
  const cpu = readCpuUs(program.pid) - before;
  const line = /^(\d+) (\d+) (\d+) (\d+)$/m.exec(new TextDecoder().decode(stdout));
  if (!line || line[4] !== "0") throw new Error(`${program.name} did not respond to every request with success`);
  const [requests, us, p99] = line.slice(1).map(Number);
  return { perSecond: requests / (us / 1e6), p99Ms: p99 / 1000, cpuUs: cpu / requests };
}

/** Returns MB/s and CPU milliseconds for one large body, read by curl. */
async function runBulk(program: Program): Promise<{ mbPerSecond: number; cpuMs: number }> {
  const { script, url } = program.load("/big", true);
  const body = /wrk\.body = '(.*)'/.exec(script)?.[1];
  const data = body === undefined ? [] : ["-H", "content-type: application/json", "-d", body];
  const args = ["-s", "-o", "/dev/null", "-w", "%{size_download} %{speed_download}", "-H", "origin: http://app.test"];
  const before = readCpuUs(program.pid);
  const { stdout } = await new Deno.Command("curl", { args: [...args, ...data, url] }).output();
  const [size, speed] = new TextDecoder().decode(stdout).split(" ").map(Number);
  if (size !== BULK_BYTES) throw new Error(`${program.name} sent ${size} bytes of ${BULK_BYTES}`);
  return { mbPerSecond: speed / 1e6, cpuMs: (readCpuUs(program.pid) - before) / 1000 };
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

async function compareLoads(programs: Program[]): Promise<void> {
  print("| 12-byte answer | requests/s | p99 ms | CPU µs/request |\n|---|---|---|---|");
  for (const connections of CONNECTIONS) {
    const loads = programs.map((): Load[] => []);
    for (let round = 0; round < rounds; round++) {
      for (const [i, program] of programs.entries()) loads[i].push(await runLoad(program, connections));
    }
    const results = loads.map((all) => ({
      perSecond: median(all.map((one) => one.perSecond)),
      p99Ms: median(all.map((one) => one.p99Ms)),
      cpuUs: median(all.map((one) => one.cpuUs)),
    }));
    const [ours, theirs] = results;
    for (const [i, one] of results.entries()) {
      print(
        `| ${programs[i].name}, ${connections} | ${one.perSecond.toFixed(0)} | ${one.p99Ms.toFixed(1)} | ${
          one.cpuUs.toFixed(0)
        } |`,
      );
    }
    print(
      `| **portway / cors-anywhere** | **${(ours.perSecond / theirs.perSecond).toFixed(2)}** | ${
        (ours.p99Ms / theirs.p99Ms).toFixed(2)
      } | ${(ours.cpuUs / theirs.cpuUs).toFixed(2)} |`,
    );
  }
}

async function compareBulk(programs: Program[]): Promise<void> {
  print(`\n| ${BULK_BYTES / 1e6} MB body | MB/s | CPU ms |\n|---|---|---|`);
  const runs = programs.map((): Awaited<ReturnType<typeof runBulk>>[] => []);
  for (let round = 0; round < rounds * 4; round++) {
    for (const [i, program] of programs.entries()) runs[i].push(await runBulk(program));
  }
  const results = runs.map((all) => ({
    mbPerSecond: median(all.map((one) => one.mbPerSecond)),
    cpuMs: median(all.map((one) => one.cpuMs)),
  }));
  const [ours, theirs] = results;
  for (const [i, one] of results.entries()) {
    print(`| ${programs[i].name} | ${one.mbPerSecond.toFixed(0)} | ${one.cpuMs.toFixed(0)} |`);
  }
  print(
    `| **portway / cors-anywhere** | **${(ours.mbPerSecond / theirs.mbPerSecond).toFixed(2)}** | ${
      (ours.cpuMs / theirs.cpuMs).toFixed(2)
    } |`,
  );
}

const upstream = await startUpstream();
const programs = [await startPortway(upstream.url), await startPeer(upstream.url), await startBare(upstream.url)];
try {
  // The first requests compile code, so they do not count.
  for (const program of programs) await runLoad(program, 32);
  await compareLoads(programs);
  await compareBulk(programs);
} finally {
  for (const { process } of [upstream, ...programs]) {
    process.kill("SIGKILL");
    await process.status;
  }
  await Deno.remove(folder, { recursive: true });
}
