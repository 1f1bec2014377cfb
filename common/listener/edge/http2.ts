import process from "node:process";
import type { Connection } from "../../connection/mod.ts";
import type { ExchangeHandler, ListenOptions } from "../types.ts";

/** A connection on which HTTP/2 is spoken. */
export interface Http2Connection {
  /** Whether exchanges run on it. */
  readonly isBusy: boolean;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

/** Speaks HTTP/2 on connections that the edge has accepted, and whose limits the edge keeps. */
export interface Http2Front {
  /** @param moved told when something came from the visitor, or was taken by them */
  carry(connection: Connection, remoteAddress: string, moved: () => void): Http2Connection;
  /** Waits until running exchanges are done. */
  close(): Promise<void>;
  /** Ends everything now. */
  abort(): void;
}

/** Opens the HTTP/2 of this runtime. */
export async function openHttp2(options: ListenOptions, handler: ExchangeHandler): Promise<Http2Front> {
  if (process.versions.deno === undefined) return (await import("./http2_node.ts")).openNodeHttp2(options, handler);
  return (await import("./http2_deno.ts")).openDenoHttp2(options, handler);
}
