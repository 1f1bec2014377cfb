import process from "node:process";
import type { ExchangeHandler, ListenOptions } from "../../types.ts";
import type { Http2Front } from "./types.ts";

/** Opens the HTTP/2 of this runtime. */
export async function openHttp2(options: ListenOptions, handler: ExchangeHandler): Promise<Http2Front> {
  if (process.versions.deno === undefined) return (await import("./node.ts")).openNodeHttp2(options, handler);
  return (await import("./deno.ts")).openDenoHttp2(options, handler);
}
