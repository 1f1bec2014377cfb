import { ConnectError, type Connection, openDriver } from "../../common/connection/mod.ts";
import type { Guard } from "./guard.ts";
import { bareHostname } from "./guard.ts";

/** A connection to a target, and how long it took to get. */
export interface DialedConnection {
  connection: Connection;
  dnsMs: number;
  /** TCP and TLS together. */
  connectMs: number;
}

/** Connects to the host and port of an http or https URL. Rejects with `HttpError` of the guard, or `ConnectError`. */
export type Dial = (url: URL, signal?: AbortSignal) => Promise<DialedConnection>;

export interface DialerOptions {
  guard: Guard;
  /** For each address tried. */
  timeoutMs: number;
  /** PEM texts trusted besides the usual ones. */
  caCerts?: readonly string[];
}

/**
 * Creates a dialer that resolves a name once, has all its addresses checked by the guard and dials exactly those.
 * A name that resolves to something else a moment later changes nothing; SNI and certificate stay the name's.
 */
export function createDialer({ guard, timeoutMs, caCerts }: DialerOptions): Dial {
  return async (url, signal) => {
    const startedAt = performance.now();
    const addresses = await guard.resolve(url.hostname);
    const resolvedAt = performance.now();
    const connection = await dialFirst(addresses, url, { timeoutMs, caCerts, signal });
    return { connection, dnsMs: resolvedAt - startedAt, connectMs: performance.now() - resolvedAt };
  };
}

interface DialOptions {
  timeoutMs: number;
  caCerts?: readonly string[];
  signal?: AbortSignal;
}

/** Dials one address after the other until one answers. Rejects with what the last one said. */
async function dialFirst(addresses: readonly string[], url: URL, options: DialOptions): Promise<Connection> {
  let failure: unknown;
  for (const address of addresses) {
    const timeout = AbortSignal.timeout(options.timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    try {
      return await dialOne(address, url, options.caCerts, signal);
    } catch (error) {
      failure = error;
      if (options.signal?.aborted) break;
    }
  }
  throw failure ?? new ConnectError("not_found", `"${url.hostname}" has no address`);
}

async function dialOne(
  address: string,
  url: URL,
  caCerts: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Connection> {
  const driver = await openDriver();
  const isTls = url.protocol === "https:";
  const port = Number(url.port) || (isTls ? 443 : 80);
  const connection = await driver.openTcp(address, port, signal);
  return isTls ? await connection.startTls(bareHostname(url.hostname), { caCerts }, signal) : connection;
}
