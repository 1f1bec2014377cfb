import { readMemory } from "../measure/process_stats.ts";

/** A relay for idle tunnels. */
export interface IdleHost {
  name: string;
  relay: number;
  /** Opens `count` more tunnels in a new or existing process, and returns that process. */
  open(count: number): Promise<number>;
  stop(): Promise<void>;
}

export type StartIdleHost = () => Promise<IdleHost>;

export interface IdleResult {
  /** Relay memory per idle tunnel, in bytes. */
  relayBytes: number;
  /** Client process memory per idle tunnel, in bytes. */
  clientBytes: number;
  /** Created and connected tunnels per second. */
  perSecond: number;
}

/** Tunnels before the first measurement, so that one-time loading and compiling does not count. */
const WARM_UP = 100;
/**
 * A new tunnel is not idle yet: runtimes free its start-up memory after half a minute. Heartbeats occur in this time.
 */
const REST_MS = 35_000;

/**
 * Opens `count` idle tunnels on each kind of relay, and measures the memory. All rest together.
 * @returns a result or an error for each name, in order
 */
export async function measureIdleTunnels(
  starts: ReadonlyMap<string, StartIdleHost>,
  count: number,
): Promise<Map<string, IdleResult | Error>> {
  const results = new Map<string, IdleResult | Error>();
  const runs = new Map<string, IdleRun>();
  /** Takes every remaining run one step further. Failed runs stay behind. */
  async function step(go: (run: IdleRun, name: string) => void | Promise<void>): Promise<void> {
    for (const [name, run] of runs) {
      try {
        await go(run, name);
      } catch (error) {
        results.set(name, toError(error));
        runs.delete(name);
        await run.host?.stop();
      }
    }
  }
  for (const name of starts.keys()) runs.set(name, new IdleRun());
  await step(async (run, name) => await run.start(starts.get(name)!));
  await rest();
  await step((run) => run.open(count));
  await rest();
  await step(async (run, name) => {
    results.set(name, run.look(count));
    await run.host?.stop();
  });
  return new Map([...starts.keys()].map((name) => [name, results.get(name)!]));
}

/** One relay during the measurement. */
class IdleRun {
  host: IdleHost | null = null;
  #warmClient = 0;
  #client = 0;
  #relayBefore = 0;
  #clientBefore = 0;
  #seconds = 0;

  async start(start: StartIdleHost): Promise<void> {
    this.host = await start();
    this.#warmClient = await this.host.open(WARM_UP);
  }

  async open(count: number): Promise<void> {
    const host = this.host!;
    this.#relayBefore = readMemory([host.relay]);
    this.#clientBefore = readMemory([this.#warmClient]);
    const started = performance.now();
    this.#client = await host.open(count);
    this.#seconds = (performance.now() - started) / 1000;
  }

  look(count: number): IdleResult {
    const clientBefore = this.#client === this.#warmClient ? this.#clientBefore : 0;
    return {
      relayBytes: (readMemory([this.host!.relay]) - this.#relayBefore) / count,
      clientBytes: (readMemory([this.#client]) - clientBefore) / count,
      perSecond: count / this.#seconds,
    };
  }
}

const toError = (error: unknown) => error instanceof Error ? error : new Error(String(error));
const rest = () => new Promise<void>((resolve) => setTimeout(resolve, REST_MS));
