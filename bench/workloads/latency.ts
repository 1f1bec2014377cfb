import { encodeRequest, VisitorConnection } from "../load/mod.ts";
import { median } from "../measure/stats.ts";
import type { Contestant } from "../programs/types.ts";

/**
 * How long a path takes to answer on an idle connection, in milliseconds: from the request to the first byte of the
 * body, the median of several. The rest of each answer is read before the next is asked for.
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

/** The same for small answers over one connection that stays open. */
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
