import process from "node:process";
import { loadCaCerts, openConnector, readProxyRules } from "../net/connection/mod.ts";
import { errorResponse, HttpError } from "../common/http_error.ts";
import { later } from "../common/later.ts";
import { describeError } from "../common/log.ts";
import type { StartEmbeddedRelay } from "./expose/open_relay.ts";
import {
  type CarriedRequest,
  createEphemeralTunnel,
  createHandlerTarget,
  createUpstream,
  runTunnel,
  type Target,
  type TunnelEnd,
} from "./tunnel/mod.ts";

/** What a tunnel opened by code leads to; one of the first four is wanted. */
export interface OpenTunnelOptions {
  /** A service on this port of this machine. */
  port?: number;
  /** A service at this `http:` or `https:` URL. */
  url?: string | URL;
  /** A folder or a file, shared as a page that can be looked through. */
  folder?: string;
  /** Code in this process that answers visitors. */
  fetch?: (request: Request) => Response | Promise<Response>;
  /** With `folder`: visitors can upload, rename and delete. */
  writable?: boolean;
  /** With `folder`: what visitors are asked for. */
  passphrase?: string;
  /** The server; `PORTWAY_SERVER` when left out, and without that one inside this process. */
  server?: string | URL;
  /** Closes the tunnel. */
  signal?: AbortSignal;
}

/** What happens to a tunnel, by the names that `on` takes. */
export interface TunnelEventMap {
  /** A request was answered. */
  request: CarriedRequest;
  /** The connection was lost, and is tried again. */
  reconnecting: { reason: string; delayMs: number };
  /** It is there again, under the same URL. */
  reconnected: Record<never, never>;
  /** The tunnel is over. */
  close: TunnelEnd;
}

/** A tunnel that code has opened. Disposing of it closes it. */
export interface OpenTunnel extends AsyncDisposable {
  readonly id: string;
  /** Its public URL, without a slash at its end. */
  readonly url: string;
  /** When the server ends it. */
  readonly expiresAt: Date;
  /** Resolves when it is over, however that came. */
  readonly closed: Promise<TunnelEnd>;
  /** Has a listener told of what happens. @returns a function that ends that */
  on<K extends keyof TunnelEventMap>(event: K, listener: (detail: TunnelEventMap[K]) => void): () => void;
  /** Lets answers under way end, for some seconds, and closes the tunnel. */
  close(): Promise<void>;
}

/**
 * Opens an ephemeral tunnel. It resolves once visitors can come.
 * @throws TypeError when it is not said what it leads to; Error with a line for the user when the server cannot be
 * reached or refuses
 */
export async function openTunnelFrom(
  startEmbeddedRelay: StartEmbeddedRelay,
  options: OpenTunnelOptions,
): Promise<OpenTunnel> {
  const { env } = process;
  const caCerts = await loadCaCerts({
    PORTWAY_CA_CERTS: env.PORTWAY_CA_CERTS,
    NODE_EXTRA_CA_CERTS: env.NODE_EXTRA_CA_CERTS,
  });
  const connect = openConnector({ proxies: readProxyRules(env), caCerts });
  const target = await createTarget(options);
  const stop = new AbortController(), listeners = new Listeners();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, options.signal]);
  const given = options.server ?? (env.PORTWAY_SERVER || undefined);
  let relay: { url: URL; close(): Promise<void> } | null = null;
  const free = async () => {
    await target.close();
    await relay?.close();
  };
  try {
    relay = given === undefined ? await startEmbeddedRelay(0, null) : null;
    const server = relay?.url ?? new URL(given ?? "");
    const tunnel = await createEphemeralTunnel(connect, server, { signal });
    const opened = Promise.withResolvers<void>();
    const ended = runTunnel({ connect, server, tunnel, target, signal, events: listeners.events(opened.resolve) });
    const closed = ended.finally(free);
    await Promise.race([opened.promise, closed]);
    closed.then((end) => listeners.tell("close", end), () => {});
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

async function createTarget(options: OpenTunnelOptions): Promise<Target> {
  const { port, url, folder, fetch, writable = false, passphrase } = options;
  const given = [port, url, folder, fetch].filter((one) => one !== undefined);
  if (given.length !== 1) throw new TypeError("one of port, url, folder and fetch is wanted");
  if (fetch !== undefined) return createHandlerTarget("a function", wrapFetch(fetch));
  if (folder !== undefined) {
    const { createFileShare }: typeof import("./files/mod.ts") = await import(later("./files/mod.ts"));
    return createHandlerTarget(folder, createFileShare({ path: folder, writable, passphrase }));
  }
  const service = new URL(url ?? `http://localhost:${port}`);
  return createUpstream({ url: service, connect: openConnector(), hostHeader: service.host });
}

/** A function of the user's may throw; what carries it must be answered. */
function wrapFetch(
  fetch: (request: Request) => Response | Promise<Response>,
): Parameters<typeof createHandlerTarget>[1] {
  return {
    async fetch(request) {
      try {
        return await fetch(request);
      } catch (error) {
        process.stderr.write(`portway: a request failed: ${describeError(error)}\n`);
        return errorResponse(new HttpError(500, "handler_failed", "It failed."), request.headers.get("accept"));
      }
    },
    close: () => Promise.resolve(),
  };
}

type Listener<K extends keyof TunnelEventMap> = (detail: TunnelEventMap[K]) => void;

/** Who wants to know what. */
class Listeners {
  readonly #known: { [K in keyof TunnelEventMap]: Set<Listener<K>> } = {
    request: new Set(),
    reconnecting: new Set(),
    reconnected: new Set(),
    close: new Set(),
  };

  add<K extends keyof TunnelEventMap>(event: K, listener: Listener<K>): () => void {
    this.#known[event].add(listener);
    return () => void this.#known[event].delete(listener);
  }

  tell<K extends keyof TunnelEventMap>(event: K, detail: TunnelEventMap[K]): void {
    for (const listener of this.#known[event]) listener(detail);
  }

  events(onOpened: () => void): Parameters<typeof runTunnel>[0]["events"] {
    let isOpen = false;
    return {
      onConnected: () => {
        if (isOpen) this.tell("reconnected", {});
        isOpen = true;
        onOpened();
      },
      onRequest: (request) => this.tell("request", request),
      onReconnecting: (reason, delayMs) => this.tell("reconnecting", { reason, delayMs }),
      onDraining: () => {},
    };
  }
}
