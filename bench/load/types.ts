import type { Endpoint } from "../programs/types.ts";
import type { Head } from "./heads.ts";

/** Keep-alive connections that ask for one path again and again, each as soon as it has its answer. */
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
 * Makes a load and measures it.
 * @throws Error when requests failed or were answered with another status than 2xx or 3xx
 */
export type GenerateLoad = (load: Load) => Promise<LoadResult>;
