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

/** A connection to an upstream, and how long it took to get. */
export interface DialedConnection {
  connection: Connection;
  dnsMs: number;
  /** TCP and TLS together. */
  connectMs: number;
}

/** What one connection to an upstream is for, and how its certificate is checked. */
export interface DialOptions {
  signal: AbortSignal;
  /** The connection is for a body that is sent while it is read from a request to this server. */
  carriesUpload: boolean;
  /** Take any certificate, of any name. */
  skipTlsVerify: boolean;
}

/** Which addresses may be dialled, and how. */
export interface DialerOptions {
  guard: Guard;
  /** For each address tried. */
  timeoutMs: number;
  /** PEM texts trusted besides the usual ones. */
  caCerts?: readonly string[];
  /** By default the runtime's own, and the Node driver for TLS and uploads. */
  driver?: Driver;
}

/**
 * Resolves a name once, has all its addresses checked by the guard and dials exactly those. A name that resolves to
 * something else a moment later changes nothing; SNI and certificate stay the name's.
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

  /** Connects to the host and port of an http or https URL. @throws HttpError of the guard, or ConnectError */
  async dial(url: URL, options: DialOptions): Promise<DialedConnection> {
    const startedAt = performance.now();
    const addresses = await abortable(this.#guard.resolve(url), options.signal);
    const resolvedAt = performance.now();
    const connection = await this.#dialFirst(addresses, url, options);
    return { connection, dnsMs: resolvedAt - startedAt, connectMs: performance.now() - resolvedAt };
  }

  /** Dials one address after the other until one answers. Rejects with what tells most of why none did. */
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
        // Deno keeps a socket open whose handshake is given up: upstreams that never answer one would pile up.
        // And a write of its takes a turn of the event loop, in each of which its server may take in more of a chunked
        // body than is read from it, and has all of that moved at every read: 300 MB took 20 s instead of one.
        viaNode: isTls || carriesUpload,
        signal: limit.signal,
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
    }
  }
}

/** An address that was reached and is not trusted: another one of the same name is not what was asked for. */
const isFinal = (error: unknown): boolean => error instanceof ConnectError && error.failure === "tls";

/** A machine without IPv6 fails oddly there: what a host did, or left undone, tells more. */
const TELLING: readonly ConnectFailure[] = ["refused", "timeout"];
const tells = (error: unknown): number => error instanceof ConnectError ? TELLING.indexOf(error.failure) : -1;

/** A promise that nothing can stop, given up when the signal says so. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
