import { bareHostname } from "../../common/bare_hostname.ts";
import {
  type Connect,
  ConnectError,
  type ConnectFailure,
  type Connection,
  type Driver,
  openConnector,
} from "../../net/connection/mod.ts";
import { portOf } from "../../common/url_port.ts";
import type { Guard } from "./guard.ts";

/** A connection to an upstream, and its connect time. */
export interface DialedConnection {
  connection: Connection;
  dnsMs: number;
  /** Milliseconds for TCP and TLS together. */
  connectMs: number;
}

/** Options for one connection to an upstream. */
export interface DialOptions {
  signal: AbortSignal;
  /** Whether the connection sends a body while this server still receives it. */
  carriesUpload: boolean;
  /** Accepts any certificate. */
  skipTlsVerify: boolean;
}

/** The guard, the timeout and the drivers. */
export interface DialerOptions {
  guard: Guard;
  /** Milliseconds for each address. */
  timeoutMs: number;
  /** PEM texts of additional trusted authorities. */
  caCerts?: readonly string[];
  /** The connectors; by default the runtime's, and Node's for TLS and uploads. */
  driver?: Driver;
}

/**
 * Resolves a name once, checks all addresses with the guard, and dials exactly those. A later DNS change has no effect.
 * SNI and the certificate check use the name.
 */
export class Dialer {
  readonly #guard: Guard;
  readonly #timeoutMs: number;
  readonly #connect: Connect;

  constructor({ guard, timeoutMs, caCerts, driver }: DialerOptions) {
    this.#guard = guard;
    this.#timeoutMs = timeoutMs;
    this.#connect = openConnector({ caCerts, driver });
  }

  /** Connects to the host and port in an http or https URL. @throws HttpError from the guard, ConnectError */
  async dial(url: URL, options: DialOptions): Promise<DialedConnection> {
    const startedAt = performance.now();
    const addresses = await abortable(this.#guard.resolve(url), options.signal);
    const resolvedAt = performance.now();
    const connection = await this.#dialFirst(addresses, url, options);
    return { connection, dnsMs: resolvedAt - startedAt, connectMs: performance.now() - resolvedAt };
  }

  /** Dials the addresses in order until one connects. Rejects with the most informative error if none does. */
  async #dialFirst(addresses: readonly string[], url: URL, options: DialOptions): Promise<Connection> {
    let failure: unknown = new ConnectError("not_found", `"${url.hostname}" has no address`);
    for (const address of addresses) {
      try {
        return await this.#dialOne(address, url, options);
      } catch (error) {
        if (options.signal.aborted || isFinal(error)) throw error;
        if (tells(error) >= tells(failure)) failure = error;
      }
    }
    throw failure;
  }

  async #dialOne(address: string, url: URL, options: DialOptions): Promise<Connection> {
    const { signal, carriesUpload, skipTlsVerify } = options;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new DOMException("no answer", "TimeoutError")), this.#timeoutMs);
    const giveUp = () => limit.abort(signal.reason);
    signal.addEventListener("abort", giveUp);
    const isTls = url.protocol === "https:";
    try {
      signal.throwIfAborted();
      return await this.#connect({
        hostname: bareHostname(url.hostname),
        address,
        port: portOf(url),
        tls: isTls ? { allowSelfSigned: skipTlsVerify } : undefined,
        // Deno keeps the socket open after an abandoned TLS handshake, so silent upstreams would accumulate. Its writes
        // also take an event loop iteration each, while its server buffers more of a chunked body and moves the buffer
        // at every read: 300 MB took 20 s instead of one.
        viaNode: isTls || carriesUpload,
        signal: limit.signal,
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
    }
  }
}

/** Whether the error is an untrusted certificate. The dialer then tries no other address. */
const isFinal = (error: unknown): boolean => error instanceof ConnectError && error.failure === "tls";

/** Ranks errors. A machine without IPv6 has odd errors there, so errors from the host itself rank higher. */
const TELLING: readonly ConnectFailure[] = ["refused", "timeout"];
const tells = (error: unknown): number => error instanceof ConnectError ? TELLING.indexOf(error.failure) : -1;

/** Stops waiting for an unstoppable promise when the signal aborts. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
