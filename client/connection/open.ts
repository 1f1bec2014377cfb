import process from "node:process";
import { createLocalhostDialer, type Dial } from "./localhost.ts";
import { connectThroughProxy } from "./proxy.ts";
import { type ProxyRules, stripBrackets } from "./proxy_rules.ts";
import type { Connect, ConnectOptions, Driver, PlainConnection } from "./types.ts";

export interface ConnectorOptions {
  /** Which peers are reached through a proxy; none by default. */
  proxies?: ProxyRules;
  /** PEM texts trusted besides the usual ones, and besides those of a call. */
  caCerts?: readonly string[];
  /** The runtime's own by default, loaded with the first connection. */
  driver?: Driver;
}

/** Opens the function that connects: directly or through a proxy, plain or in TLS, by the runtime's driver. */
export function openConnector(options: ConnectorOptions = {}): Connect {
  const dial = createLocalhostDialer();
  return async (target) => {
    const hostname = stripBrackets(target.hostname);
    const driver = options.driver ?? await chooseDriver(target);
    const connection = await openPlain(dial, driver, options.proxies, { ...target, hostname });
    if (target.tls === undefined) return connection;
    const caCerts = [...options.caCerts ?? [], ...target.tls.caCerts ?? []];
    return await connection.startTls(hostname, { ...target.tls, caCerts }, target.signal);
  };
}

async function openPlain(
  dial: Dial,
  driver: Driver,
  proxies: ProxyRules | undefined,
  { hostname, port, tls, signal }: ConnectOptions,
): Promise<PlainConnection> {
  const proxy = proxies?.(hostname, port, tls !== undefined) ?? null;
  if (proxy === null) return await dial(driver, hostname, port, signal);
  const connection = await dial(driver, proxy.hostname, proxy.port, signal);
  try {
    await connectThroughProxy(connection, proxy, hostname, port, signal);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function chooseDriver({ tls }: ConnectOptions): Promise<Driver> {
  // Deno's own TLS has no way to take a certificate that nobody vouches for.
  if (process.versions.deno !== undefined && !tls?.allowSelfSigned) return (await import("./deno.ts")).denoDriver;
  return (await import("./node.ts")).nodeDriver;
}
