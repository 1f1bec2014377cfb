import { readMemory } from "../measure/process_stats.ts";

/** A relay to which tunnels can be opened that then carry nothing. */
export interface IdleHost {
  name: string;
  relay: number;
  /** Opens `count` more, in a process of their own or one that has some already, and returns that process. */
  open(count: number): Promise<number>;
  stop(): Promise<void>;
}

export type StartIdleHost = () => Promise<IdleHost>;

export interface IdleResult {
  /** Memory of the relay for each idle tunnel, in bytes. */
  relayBytes: number;
  /** Memory of the process that holds the clients' ends, for each of its tunnels, in bytes. */
  clientBytes: number;
  /** Tunnels made and connected per second. */
  perSecond: number;
}

/** Tunnels opened before the first look, so that what is loaded and compiled once does not count. */
const WARM_UP = 100;
/** Runtimes give memory back late; a moment of rest makes two looks comparable. */
const REST_MS = 1500;

/** Opens `count` tunnels that carry nothing, on a relay of their own, and looks at the memory. */
export async function measureIdleTunnels(start: StartIdleHost, count: number): Promise<IdleResult> {
  const host = await start();
  try {
    const warmClient = await host.open(WARM_UP);
    await rest();
    const relayBefore = readMemory([host.relay]), clientBefore = readMemory([warmClient]), started = performance.now();
    const client = await host.open(count);
    const seconds = (performance.now() - started) / 1000;
    await rest();
    return {
      relayBytes: (readMemory([host.relay]) - relayBefore) / count,
      clientBytes: (readMemory([client]) - (client === warmClient ? clientBefore : 0)) / count,
      perSecond: count / seconds,
    };
  } finally {
    await host.stop();
  }
}

const rest = () => new Promise<void>((resolve) => setTimeout(resolve, REST_MS));
