import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { describeError } from "../../common/log.ts";
import { readMemory } from "../measure/process_stats.ts";
import { median, percentile } from "../measure/stats.ts";
import { DENO, ROOT } from "../programs/helpers.ts";
import { startTunnel } from "../programs/portway.ts";
import { startProgram } from "../programs/process.ts";
import { warmUp } from "../workloads/warm_up.ts";
import type { GenerateLoad } from "../load/mod.ts";
import { openSession } from "./session.ts";
import type { Tally, Victim } from "./types.ts";

const FOLDER = join(ROOT, "bench/attacks");
/** Pause between two new visitors, and between two memory readings. */
const PROBE_MS = 50;
const SAMPLE_MS = 100;
/** Longer waits count as failed. */
const PATIENCE_MS = 10_000;
/** Time limit for an attack's start. */
const READY_MS = 60_000;
/** Time limit for the return of resources. */
const RETURN_MS = 90_000;

export interface AttackOptions {
  name: string;
  count: number;
}

/** Measurements during an attack. Times in milliseconds, memory in bytes. */
export interface Bearing {
  /** New tunnel visitors during the attack. */
  probes: number;
  /** Failed ones, or those with a wrong response. */
  failed: number;
  median: number;
  p99: number;
  longest: number;
  /** The server's memory before the attack, and its peak. */
  memoryBefore: number;
  memoryPeak: number;
  /** The server's memory at the attack's end. */
  memoryHeld: number;
  /** The client's peak memory. */
  clientPeak: number;
  descriptorsBefore: number;
  descriptorsAfter: number;
  streamsAfter: number;
  /** Reason why no new session could open, or null. */
  sessionFault: string | null;
  /** Time until descriptors and streams returned; NaN if they did not. */
  returned: number;
  tally: Tally | null;
}

/** A server, a client and a local service as users run them, with attackers on demand. */
export interface Stage extends AsyncDisposable {
  /**
   * Runs an attack, or with null none.
   * @param seconds duration after its start
   */
  bear(attack: AttackOptions | null, seconds: number): Promise<Bearing>;
}

/** Options for the attacked server. */
export interface StageOptions {
  /** Maximum open files and sockets; inherited if left out. */
  descriptors?: number;
  /** The server ends TLS itself. */
  isSecure?: boolean;
  /** Generates ordinary load before the attack; the server has just started if left out. */
  visited?: GenerateLoad;
}

export async function openStage({ descriptors, isSecure = false, visited }: StageOptions = {}): Promise<Stage> {
  // This run does not measure how long a Deno service lets new visitors wait: net/connection/pacing/deno.ts.
  const env = { DENO_TOKIO_EVENT_INTERVAL: "1" };
  const service = startProgram(DENO, ["run", "-A", join(FOLDER, "_target.ts")], { env });
  const [, port] = await service.until(/port (\d+)/);
  const tunnel = await startTunnel("portway", { service: Number(port) }, { descriptors, isSecure }, { silent: true });
  if (visited !== undefined) await warmUp(tunnel, visited);
  const [relay] = tunnel.relay, [client] = tunnel.client;
  const victim: Victim = tunnel.endpoint;

  async function bear(attack: AttackOptions | null, seconds: number): Promise<Bearing> {
    await probe(victim);
    const before = { memory: readMemory([relay]), descriptors: countDescriptors(relay) };
    const attacker = attack === null ? null : startProgram(
      DENO,
      ["run", "-A", join(FOLDER, "_attacker.ts"), attack.name, String(victim.port), victim.host]
        .concat(String(attack.count)),
    );
    let peak = before.memory, clientPeak = 0;
    const sampler = setInterval(() => {
      peak = Math.max(peak, readMemory([relay]));
      clientPeak = Math.max(clientPeak, readMemory([client]));
    }, SAMPLE_MS);
    try {
      const visits = startProbes(victim);
      await attacker?.until(/ready/, READY_MS);
      await sleep(seconds * 1000);
      const sessionFault = await tryForSession(victim);
      const times = await visits.stop();
      const memoryHeld = readMemory([relay]);
      const tally = attacker?.lastLine() ?? "";
      await attacker?.stop();
      const stopped = performance.now();
      const returned = await whenReturned(before.descriptors);
      const answered = times.filter((time) => Number.isFinite(time));
      return {
        probes: times.length,
        failed: times.length - answered.length,
        median: median(answered),
        p99: percentile(answered, 0.99),
        longest: Math.max(...answered),
        sessionFault,
        memoryBefore: before.memory,
        memoryPeak: peak,
        memoryHeld,
        clientPeak,
        descriptorsBefore: before.descriptors,
        descriptorsAfter: countDescriptors(relay),
        streamsAfter: await countStreams(),
        returned: returned ? performance.now() - stopped : NaN,
        tally: tally.startsWith("{") ? JSON.parse(tally) as Tally : null,
      };
    } finally {
      clearInterval(sampler);
      await attacker?.stop();
    }
  }

  /** Resolves when descriptors and streams have returned to their start values, except a few kept connections. */
  async function whenReturned(descriptors: number): Promise<boolean> {
    for (let waited = 0; waited < RETURN_MS; waited += SAMPLE_MS) {
      if (countDescriptors(relay) <= descriptors + 2 && await countStreams() === 0) return true;
      await sleep(SAMPLE_MS);
    }
    return false;
  }

  async function countStreams(): Promise<number> {
    try {
      const answer = await ask(victim, "localhost", "/health");
      return (JSON.parse(answer.slice(answer.indexOf("{"))) as { streams: number }).streams;
    } catch {
      return NaN;
    }
  }

  return {
    bear,
    async [Symbol.asyncDispose]() {
      await tunnel.stop();
      await service.stop();
    },
  };
}

/** Opens a session and ends it. @returns the obstacle, or null */
async function tryForSession(victim: Victim): Promise<string | null> {
  // Hand-made sessions have no TLS.
  if (victim.isSecure) return null;
  try {
    (await openSession(victim, { opened: 0, ended: 0, sent: 0, answers: {} })).socket.destroy();
    return null;
  } catch (error) {
    return describeError(error);
  }
}

/** Starts new visitors one after another, each on its own connection, and records their waiting times. */
function startProbes(victim: Victim): { stop(): Promise<number[]> } {
  const times: number[] = [];
  let going = true;
  const run = async () => {
    while (going) {
      times.push(await probe(victim));
      await sleep(PROBE_MS);
    }
  };
  const running = run();
  return {
    async stop() {
      going = false;
      await running;
      return times;
    },
  };
}

/** Returns one new visitor's waiting time; infinite without a response. */
async function probe(victim: Victim): Promise<number> {
  const began = performance.now();
  const text = await ask(victim, victim.host, "/").catch(() => "");
  const isAnswer = text.startsWith("HTTP/1.1 200 ") && text.endsWith("hello");
  return isAnswer ? performance.now() - began : Infinity;
}

/** Sends a request on its own connection over HTTP/1.1. Resolves with the complete response in time. */
function ask({ port, isSecure }: Victim, host: string, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const to = { port, host: "127.0.0.1", noDelay: true };
  const socket = isSecure ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
  let text = "";
  const timer = setTimeout(() => socket.destroy(new Error("no answer")), PATIENCE_MS);
  socket.on(isSecure ? "secureConnect" : "connect", () => {
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
  });
  socket.on("data", (bytes: Uint8Array) => text += Buffer.from(bytes).toString("latin1"));
  socket.on("error", reject);
  socket.on("close", () => {
    clearTimeout(timer);
    resolve(text);
  });
  return promise;
}

function countDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
