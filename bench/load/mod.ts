import { ownLoad } from "./own.ts";
import type { GenerateLoad } from "./types.ts";
import { hasWrk, wrk } from "./wrk.ts";

export { encodeRequest, VisitorConnection } from "./connection.ts";
export { BROWSER, FORWARDED, type Head, PLAIN } from "./heads.ts";
export { http2Load } from "./http2.ts";
export type { GenerateLoad, LoadResult } from "./types.ts";
export { EchoSocket } from "./websocket.ts";
export { parseWrk } from "./wrk.ts";

/** Returns wrk if it is installed, or the built-in generator. */
export async function chooseLoad(): Promise<{ name: string; generate: GenerateLoad }> {
  return await hasWrk() ? { name: "wrk", generate: wrk } : { name: "bench/load/own.ts", generate: ownLoad };
}
