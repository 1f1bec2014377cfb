import type { GenerateLoad, Head } from "../load/mod.ts";
import { readCpu } from "../measure/process_stats.ts";
import type { Contestant } from "../programs/types.ts";

export interface RequestsOptions {
  generate: GenerateLoad;
  path: string;
  head: Head;
  connections: number;
  seconds: number;
}

export interface RequestsResult {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU per request, in microseconds. */
  relayUs: number;
  clientUs: number;
  /** Relay and client together. */
  cpuUs: number;
}

/** Measures small responses at full speed. */
export async function measureRequests(
  { endpoint, relay, client }: Contestant,
  { generate, ...load }: RequestsOptions,
): Promise<RequestsResult> {
  const relayBefore = readCpu(relay), clientBefore = readCpu(client);
  const { requests, perSecond, p50Ms, p99Ms } = await generate({ endpoint, ...load });
  const relayUs = (readCpu(relay) - relayBefore) / requests;
  const clientUs = (readCpu(client) - clientBefore) / requests;
  return { perSecond, p50Ms, p99Ms, relayUs, clientUs, cpuUs: relayUs + clientUs };
}
