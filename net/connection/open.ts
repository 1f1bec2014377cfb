import process from "node:process";
import { describeProxyFailure } from "./_failure.ts";
import { createLocalhostDialer, type Dial } from "./localhost.ts";
import { connectThroughProxy } from "./proxy.ts";
import { type ProxyRules, stripBrackets } from "./proxy_rules.ts";
import {
  type AcceptOptions,
  type Acceptor,
  type Connect,
  ConnectError,
  type ConnectOptions,
  type Driver,
  type PlainConnection,
} from "./types.ts";

/** Proxies and trusted certificates for connections. */
export interface ConnectorOptions {
  /** Rules for proxies; none by default. */
  proxies?: ProxyRules;
  /** Trusted PEM texts, in addition to the usual ones and those in a call. */
  caCerts?: readonly string[];
  /** The runtime's own by default, loaded with the first connection. */
  driver?: Driver;
}

/** Returns a function that connects directly or through a proxy, plain or with TLS, with the runtime's driver. */
export function openConnector(options: ConnectorOptions = {}): Connect {
  const dial = createLocalhostDialer();
  const connectWith = async (driver: Driver, where: ConnectOptions) => {
    const connection = await openPlain(dial, driver, options.proxies, where);
    if (where.tls === undefined) return connection;
    const caCerts = [...options.caCerts ?? [], ...where.tls.caCerts ?? []];
    return await connection.startTls(where.hostname, { ...where.tls, caCerts }, where.signal);
  };

  return async (given) => {
    const target = { ...given, hostname: stripBrackets(given.hostname) };
    if (options.driver !== undefined) return await connectWith(options.driver, target);
    try {
      return await connectWith(await chooseDriver(target), target);
    } catch (error) {
      if (!isSelfSignedRefusal(error)) throw error;
      return await connectWith((await import("./node.ts")).nodeDriver, target);
    }
  };
}

async function openPlain(
  dial: Dial,
  driver: Driver,
  proxies: ProxyRules | undefined,
  { hostname, address, port, tls, signal }: ConnectOptions,
): Promise<PlainConnection> {
  const proxy = proxies?.(hostname, port, tls !== undefined) ?? null;
  if (proxy === null) return await dial(driver, address ?? hostname, port, signal);
  const connection = await dial(driver, proxy.hostname, proxy.port, signal).catch((cause) => {
    throw describeProxyFailure(cause);
  });
  try {
    await connectThroughProxy(connection, proxy, hostname, port, signal);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** A repeated import costs a fifth of a connection. */
const loaded: { node?: Driver; deno?: Driver } = {};

async function chooseDriver({ tls, viaNode }: ConnectOptions): Promise<Driver> {
  // Deno's own TLS cannot accept an untrusted certificate.
  const isForNode = process.versions.deno === undefined || tls?.allowSelfSigned || viaNode;
  if (isForNode) return loaded.node ??= (await import("./node.ts")).nodeDriver;
  return loaded.deno ??= (await import("./deno.ts")).denoDriver;
}

/** Deno's TLS refuses a self-signed certificate even if it is trusted; node:tls accepts it. */
function isSelfSignedRefusal(error: unknown): boolean {
  return error instanceof ConnectError && error.failure === "tls" && error.message.includes("CaUsedAsEndEntity");
}

/**
 * Listens with the runtime's own driver.
 * @throws the system's error for an unavailable address
 */
export async function openAcceptor(options: AcceptOptions): Promise<Acceptor> {
  if (process.versions.deno === undefined) return await (await import("./node.ts")).openNodeAcceptor(options);
  return await (await import("./deno.ts")).openDenoAcceptor(options);
}
