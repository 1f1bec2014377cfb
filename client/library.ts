import process from "node:process";
import { loadCaCerts, openConnector, readProxyRules } from "../net/connection/mod.ts";
import { later } from "../common/later.ts";
import { describeError } from "../common/log.ts";
import type { StartEmbeddedRelay } from "./expose/open_relay.ts";
import { type CheckedOptions, checkOptions, type OpenTunnelOptions } from "./library_options.ts";
import {
  type CarriedRequest,
  createEphemeralTunnel,
  createHandlerTarget,
  createUpstream,
  runTunnel,
  type Target,
  type TunnelEnd,
  type TunnelEvents,
} from "./tunnel/mod.ts";

/** Event types by name. */
export interface TunnelEventMap {
  /** A request has ended. */
  request: CarriedRequest;
  /** The connection was lost; the next attempt starts after `delayMs`. */
  reconnecting: { reason: string; delayMs: number };
  /** The tunnel is connected again under the same URL. */
  reconnected: Record<never, never>;
  /** The tunnel is over. */
  close: TunnelEnd;
}

/** A tunnel that code has opened. Its disposal closes it. */
export interface OpenTunnel extends AsyncDisposable {
  readonly id: string;
  /** The public URL without a trailing slash. */
  readonly url: string;
  /** The time at which the server ends it. */
  readonly expiresAt: Date;
  /** Resolves when the tunnel is over, for any reason. */
  readonly closed: Promise<TunnelEnd>;
  /** Adds a listener. One for `close` is called even after the end. @returns a function that removes it */
  on<K extends keyof TunnelEventMap>(event: K, listener: (detail: TunnelEventMap[K]) => void): () => void;
  /** Lets open requests end for some seconds, then closes the tunnel. */
  close(): Promise<void>;
}

/**
 * Opens an ephemeral tunnel. Resolves when visitors can reach it.
 * @throws TypeError for wrong options; the signal's reason if it has aborted; Error with a line for the user when the
 * server is unreachable or refuses
 */
export async function openTunnelFrom(
  startEmbeddedRelay: StartEmbeddedRelay,
  given: OpenTunnelOptions,
): Promise<OpenTunnel> {
  const { env } = process, options = checkOptions(given);
  options.signal?.throwIfAborted();
  const server = options.server ?? (env.PORTWAY_SERVER ? new URL(env.PORTWAY_SERVER) : null);
  const caCerts = await loadCaCerts({
    PORTWAY_CA_CERTS: env.PORTWAY_CA_CERTS,
    NODE_EXTRA_CA_CERTS: env.NODE_EXTRA_CA_CERTS,
  });
  const connect = openConnector({ proxies: readProxyRules(env), caCerts });
  const target = await createTarget(options);
  const stop = new AbortController(), listeners = new Listeners();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, options.signal]);
  let relay: { url: URL; close(): Promise<void> } | null = null;
  const free = async () => {
    await target.close();
    await relay?.close();
  };
  try {
    relay = server === null ? await startEmbeddedRelay(0, null) : null;
    const url = server ?? relay!.url;
    const tunnel = await createEphemeralTunnel(connect, url, { signal });
    const opened = Promise.withResolvers<void>();
    listeners.onOpened = opened.resolve;
    const ended = runTunnel({ connect, server: url, tunnel, target, signal, events: listeners.tunnelEvents });
    const closed = ended.finally(free);
    await Promise.race([opened.promise, closed]);
    closed.then((end) => listeners.close(end), () => {});
    const close = async () => {
      stop.abort();
      await closed;
    };
    return {
      id: tunnel.id,
      url: tunnel.url,
      expiresAt: new Date(tunnel.expiresAt),
      closed,
      on: (event, listener) => listeners.add(event, listener),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await free();
    throw error;
  }
}

async function createTarget(options: CheckedOptions): Promise<Target> {
  const { port, url, folder, fetch, writable, passphrase } = options;
  if (fetch !== undefined) {
    const target = { fetch: async (request: Request) => await fetch(request), close: () => Promise.resolve() };
    return createHandlerTarget("a function", target, reportFailure);
  }
  if (folder !== undefined) {
    const { createFileShare }: typeof import("./files/mod.ts") = await import(later("./files/mod.ts"));
    return createHandlerTarget(folder, createFileShare({ path: folder, writable, passphrase }), reportFailure);
  }
  const service = url ?? new URL(`http://localhost:${port}`);
  return createUpstream({ url: service, connect: openConnector(), hostHeader: service.host });
}

function reportFailure(error: unknown): void {
  process.stderr.write(`portway: a request failed: ${describeError(error)}\n`);
}

type Listener<K extends keyof TunnelEventMap> = (detail: TunnelEventMap[K]) => void;

/** The listeners of one tunnel. An error in one does not stop the others. */
class Listeners {
  readonly #known: { [K in keyof TunnelEventMap]: Set<Listener<K>> } = {
    request: new Set(),
    reconnecting: new Set(),
    reconnected: new Set(),
    close: new Set(),
  };
  /** Called when the tunnel is open for the first time. */
  onOpened: () => void = () => {};
  #isOpen = false;
  /** The tunnel's events. Requests are reported once a listener wants them. */
  readonly tunnelEvents: TunnelEvents = {
    onConnected: () => {
      if (this.#isOpen) this.#notify("reconnected", {});
      this.#isOpen = true;
      this.onOpened();
    },
    onReconnecting: (reason, delayMs) => this.#notify("reconnecting", { reason, delayMs }),
    onDraining: () => {},
    onDefect: reportFailure,
  };
  /** The tunnel's end, for listeners that are added after it. */
  #end: TunnelEnd | null = null;

  add<K extends keyof TunnelEventMap>(event: K, listener: Listener<K>): () => void {
    const known = this.#known[event];
    if (known === undefined) {
      const names = Object.keys(this.#known);
      throw new TypeError(`there is no event "${event}": one of ${names.join(", ")} is expected`);
    }
    const end = this.#end;
    if (event === "close" && end !== null) queueMicrotask(() => call(event, listener as Listener<"close">, end));
    known.add(listener);
    if (event === "request") this.tunnelEvents.onRequest ??= (request) => this.#notify("request", request);
    return () => void known.delete(listener);
  }

  close(end: TunnelEnd): void {
    this.#end = end;
    this.#notify("close", end);
  }

  #notify<K extends keyof TunnelEventMap>(event: K, detail: TunnelEventMap[K]): void {
    for (const listener of [...this.#known[event]]) call(event, listener, detail);
  }
}

function call<T>(event: string, listener: (detail: T) => void, detail: T): void {
  try {
    listener(detail);
  } catch (error) {
    process.stderr.write(`portway: a listener for "${event}" failed: ${describeError(error)}\n`);
  }
}
