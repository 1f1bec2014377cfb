import { type ClientHttp2Session, connect } from "node:http2";
import { percentile } from "../measure/stats.ts";
import type { Load, LoadResult } from "./types.ts";

/** Concurrent requests on one connection. */
const STREAMS = 8;

/**
 * Generates load over HTTP/2 and TLS with `load.connections` concurrent requests, eight on each connection. The
 * generator runs in this process and takes more CPU than wrk, so compare CPU time and not requests per second.
 * @throws Error when a request failed or got a status other than 2xx or 3xx
 */
export async function http2Load(load: Load): Promise<LoadResult> {
  const started = performance.now(), until = started + load.seconds * 1000;
  const sessions = Array.from({ length: Math.ceil(load.connections / STREAMS) }, () => openSession(load));
  try {
    const visitors = sessions.flatMap((session) => Array.from({ length: STREAMS }, () => visit(session, load, until)));
    const times = (await Promise.all(visitors)).flat();
    return {
      requests: times.length,
      perSecond: times.length / (performance.now() - started) * 1000,
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
    };
  } finally {
    for (const session of sessions) session.destroy();
  }
}

function openSession({ endpoint }: Load): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${endpoint.port}`, { rejectUnauthorized: false });
  // The streams fail as well and report the error.
  session.on("error", () => {});
  return session;
}

/** Sends requests one after another, and returns the milliseconds for each. */
async function visit(session: ClientHttp2Session, load: Load, until: number): Promise<number[]> {
  const times: number[] = [];
  for (let now = performance.now(); now < until;) {
    await request(session, load);
    const done = performance.now();
    times.push(done - now);
    now = done;
  }
  return times;
}

function request(session: ClientHttp2Session, { endpoint, path, head }: Load): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fields = Object.fromEntries(head.map(([name, value]) => [name.toLowerCase(), value]));
  const stream = session.request({ ":path": path, ":authority": endpoint.host, ...fields });
  let status = 0;
  stream.on("response", (headers) => status = Number(headers[":status"]));
  stream.resume();
  stream.on("error", reject);
  stream.on("end", () => status >= 200 && status < 400 ? resolve() : reject(new Error(`status ${status}`)));
  return promise;
}
