import process from "node:process";
import { silentLogger } from "../../common/log.ts";
import { exchangeRaw } from "./_raw_client.ts";
import { listen } from "./open.ts";
import type { ExchangeHandler, Listener, ListenerKind } from "./types.ts";

/** The drivers there are on this runtime: `Deno.serve` is on one of them only. */
export const KINDS: readonly ListenerKind[] = process.versions.deno === undefined ? ["edge"] : ["edge", "deno"];

/**
 * One test for each driver, with a listener that answers with `handler`; it fails when it does not end in time.
 * @param kinds the drivers it holds for, all by default
 */
export function contract(
  name: string,
  handler: ExchangeHandler,
  run: (port: number, kind: ListenerKind) => Promise<void>,
  kinds: readonly ListenerKind[] = KINDS,
): void {
  for (const kind of kinds) {
    Deno.test(`listener ${kind}: ${name}`, async () => {
      const listener = await listen(kind, { hostname: "127.0.0.1", port: 0, log: silentLogger }, handler);
      try {
        await within(run(listener.port, kind));
      } finally {
        await stop(listener);
      }
    });
  }
}

/** Ends a listener and what is left on it. */
export async function stop(listener: Listener): Promise<void> {
  listener.abort();
  await within(listener.close());
}

/** A guard against hanging, not a measure: far above what any of these take. */
export async function within<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no end in sight")), 10_000);
  });
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** One request on a connection of its own: all that comes back, as Latin-1. */
export function ask(port: number, line: string, rest = ""): Promise<string> {
  return exchangeRaw(port, `${line} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n${rest}\r\n`);
}

/** What follows the head. */
export const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4);
