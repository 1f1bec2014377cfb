import { percentile } from "../measure/stats.ts";
import { encodeRequest, VisitorConnection } from "./connection.ts";
import type { Load, LoadResult } from "./types.ts";

/** A load generator for machines without wrk. The generator runs in this process and takes more CPU than wrk. */
export async function ownLoad(load: Load): Promise<LoadResult> {
  const started = performance.now(), until = started + load.seconds * 1000;
  const visitors = Array.from({ length: load.connections }, () => visit(load, until));
  const times = (await Promise.all(visitors)).flat();
  if (times.length === 0) throw new Error("no request got a response");
  return {
    requests: times.length,
    perSecond: times.length / (performance.now() - started) * 1000,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
  };
}

/** One visitor. Returns the time for each request, in milliseconds. */
async function visit({ endpoint, path, head }: Load, until: number): Promise<number[]> {
  const request = encodeRequest(endpoint, "GET", path, head);
  const connection = await VisitorConnection.open(endpoint);
  const times: number[] = [];
  try {
    for (let now = performance.now(); now < until;) {
      await connection.write(request);
      const answer = await connection.readHead();
      if (answer.status >= 400) throw new Error(`a request got status ${answer.status}`);
      await connection.drain(answer);
      const done = performance.now();
      times.push(done - now);
      now = done;
    }
  } finally {
    connection.close();
  }
  return times;
}
