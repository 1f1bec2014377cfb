/**
 * Portway as a library: tunnels, views and servers from code. What a function needs is loaded when it is called.
 *
 * ```ts
 * import { openTunnel } from "portway";
 *
 * await using tunnel = await openTunnel({ fetch: () => new Response("hello") });
 * tunnel.on("request", ({ method, path, status }) => console.log(method, path, status));
 * console.log(tunnel.url);
 * ```
 *
 * @module
 */
import { later } from "./common/later.ts";
import type { OpenTunnel } from "./client/library.ts";
import type { OpenTunnelOptions } from "./client/library_options.ts";
import type { TailViewOptions } from "./client/library_views.ts";
import type { CaptureRecord } from "./client/views/mod.ts";
import { loadEmbeddedRelay, startServerWith } from "./server/program.ts";
import type { RunningServer } from "./server/main.ts";

export type { CaptureRecord, OpenTunnel, OpenTunnelOptions, RunningServer, TailViewOptions };
export type { TunnelEventMap } from "./client/library.ts";
export type { CarriedRequest, EndCause, TunnelEnd } from "./client/tunnel/mod.ts";

/**
 * Opens an ephemeral tunnel to a port, a URL, a folder or a function. It resolves once visitors can come.
 * @throws TypeError when it is not said what it leads to; Error with a line for the user when the server cannot be
 * reached or refuses
 */
export async function openTunnel(options: OpenTunnelOptions): Promise<OpenTunnel> {
  const { openTunnelFrom }: typeof import("./client/library.ts") = await import(later("./client/library.ts"));
  return await openTunnelFrom(loadEmbeddedRelay, options);
}

/**
 * The calls that a request view captures, each once, as they come, until `signal` aborts.
 * @throws Error with a line for the user when nobody is logged in, or the view is not there
 */
export async function* tailView(viewId: string, options: TailViewOptions = {}): AsyncGenerator<CaptureRecord, void> {
  const views: typeof import("./client/library_views.ts") = await import(later("./client/library_views.ts"));
  yield* views.tailView(viewId, options);
}

/** Options of the server by their names in docs/reference/configuration.md: `{ port: 0, dataDir: ":memory:" }`. */
export type StartServerOptions = Readonly<Record<string, string | number | boolean | readonly (string | number)[]>>;

/**
 * Starts a server in this process.
 * @throws Error with a line for the operator when an option cannot be used, the address cannot be had, or another
 * server that runs has the data folder
 */
export async function startServer(options: StartServerOptions = {}): Promise<RunningServer> {
  return await startServerWith(options);
}
