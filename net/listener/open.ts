import process from "node:process";
import type { ExchangeHandler, Listener, ListenerKind, ListenOptions } from "./types.ts";

/**
 * Listens for HTTP with a driver.
 * @throws the system's error for an unavailable address
 */
export async function listen(kind: ListenerKind, options: ListenOptions, handler: ExchangeHandler): Promise<Listener> {
  if (kind === "edge") return await (await import("./edge/listen.ts")).listenEdge(options, handler);
  if (process.versions.deno === undefined) throw new Error("the listener of Deno needs Deno");
  return await (await import("./deno.ts")).listenDeno(options, handler);
}
