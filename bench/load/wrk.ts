import { runProgram } from "../programs/process.ts";
import type { Load, LoadResult } from "./types.ts";

/** The load generator wrk (https://github.com/wg/wrk), one thread. */
export async function wrk({ endpoint, path, head, connections, seconds }: Load): Promise<LoadResult> {
  const fields = [["Host", endpoint.host], ...head].flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const url = `${endpoint.isSecure ? "https" : "http"}://127.0.0.1:${endpoint.port}${path}`;
  const text = await runProgram("wrk", ["-t1", `-c${connections}`, `-d${seconds}s`, "--latency", ...fields, url]);
  if (text === null) throw new Error("wrk failed");
  return parseWrk(text);
}

/** Reports whether wrk is installed. */
export async function hasWrk(): Promise<boolean> {
  // No flag makes wrk exit with success; without arguments it prints its usage.
  return await runProgram("sh", ["-c", "command -v wrk"]) !== null;
}

/**
 * Parses wrk's report.
 * @throws Error when it lists failed requests, or is no report
 */
export function parseWrk(text: string): LoadResult {
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1];
  if (failed !== undefined) throw new Error(`${failed} requests got an error status`);
  const requests = Number(/(\d+) requests in/.exec(text)?.[1] ?? 0);
  if (requests === 0) throw new Error("no request got a response");
  return {
    requests,
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]),
    p50Ms: parseTime(/^\s+50%\s+(\S+)/m.exec(text)?.[1] ?? ""),
    p99Ms: parseTime(/^\s+99%\s+(\S+)/m.exec(text)?.[1] ?? ""),
  };
}

/** Parses wrk's times such as `87.00us`, `1.25ms` or `1.02s`, in milliseconds. */
function parseTime(text: string): number {
  const [, value, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(text) ?? [];
  const factors: Record<string, number> = { us: 0.001, ms: 1, s: 1000, m: 60_000 };
  return Number(value) * (factors[unit] ?? NaN);
}
