import type { Endpoint } from "../programs/types.ts";
import type { Head } from "./heads.ts";

/** Keep-alive connections that request one path repeatedly, each after the previous response. */
export interface Load {
  endpoint: Endpoint;
  path: string;
  head: Head;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/**
 * Generates load and measures it.
 * @throws Error when requests failed or got a status other than 2xx or 3xx
 */
export type GenerateLoad = (load: Load) => Promise<LoadResult>;
