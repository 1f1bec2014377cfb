/**
 * Portway as a library: tunnels, views and servers from code. Each function loads its modules when it is called.
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
import type { RunningServer } from "./server/running_server.ts";

export type { CaptureRecord, OpenTunnel, OpenTunnelOptions, RunningServer, TailViewOptions };
export type { TunnelEventMap } from "./client/library.ts";
export type { CarriedRequest, EndCause, TunnelEnd } from "./client/tunnel/mod.ts";

/**
 * Opens an ephemeral tunnel to a port, a URL, a folder or a function. Resolves when visitors can reach it.
 * @throws TypeError for wrong options; the signal's reason if it has aborted; Error with a line for the user when the
 * server is unreachable or refuses
 */
export async function openTunnel(options: OpenTunnelOptions): Promise<OpenTunnel> {
  const { openTunnelFrom }: typeof import("./client/library.ts") = await import(later("./client/library.ts"));
  return await openTunnelFrom(loadEmbeddedRelay, options);
}

/**
 * Yields each call that a request view captures once, as it arrives, until `signal` aborts.
 * @throws Error with a line for the user without a login or without such a view
 */
export async function* tailView(viewId: string, options: TailViewOptions = {}): AsyncGenerator<CaptureRecord, void> {
  const views: typeof import("./client/library_views.ts") = await import(later("./client/library_views.ts"));
  yield* views.tailView(viewId, options);
}

/** Server options by their names in docs/reference/configuration.md: `{ port: 0, dataDir: ":memory:" }`. */
export type StartServerOptions = Readonly<Record<string, string | number | boolean | readonly (string | number)[]>>;

/**
 * Starts a server in this process.
 * @throws Error with a line for the operator when an option is wrong, the address is not available, or another running
 * server uses the data folder
 */
export async function startServer(options: StartServerOptions = {}): Promise<RunningServer> {
  return await startServerWith(options);
}
