import { encodeRequest, VisitorConnection } from "../load/mod.ts";
import { median } from "../measure/stats.ts";
import type { Contestant } from "../programs/types.ts";

/**
 * Returns the time to the first body byte on an idle connection, in milliseconds: the median of several requests. The
 * rest of each response is read before the next request.
 */
export async function measureFirstByte({ endpoint }: Contestant, path: string, tries: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < tries; i++) {
    const connection = await VisitorConnection.open(endpoint);
    try {
      const started = performance.now();
      await connection.write(encodeRequest(endpoint, "GET", path));
      const head = await connection.readHead();
      if (head.status !== 200) throw new Error(`${path} was answered with ${head.status}`);
      if (head.rest.length === 0 && await connection.read() === null) throw new Error(`${path} has no body`);
      times.push(performance.now() - started);
    } finally {
      connection.close();
    }
  }
  return median(times);
}

/** The same for small responses over one open connection. */
export async function measureKeptAlive({ endpoint }: Contestant, path: string, tries: number): Promise<number> {
  const connection = await VisitorConnection.open(endpoint);
  const times: number[] = [];
  try {
    for (let i = 0; i < tries; i++) {
      const started = performance.now();
      await connection.write(encodeRequest(endpoint, "GET", path));
      await connection.drain(await connection.readHead());
      times.push(performance.now() - started);
    }
  } finally {
    connection.close();
  }
  return median(times);
}
