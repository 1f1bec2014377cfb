import { ConnectError, type Driver, type PlainConnection } from "./types.ts";

/**
 * Reports whether a name is `localhost` or below it, which is this machine (RFC 6761, section 6.3) even if resolvers
 * disagree.
 */
export function isLocalhost(hostname: string): boolean {
  return /^(?:.*\.)?localhost\.?$/i.test(hostname);
}

/**
 * Opens plain connections. Names for this machine mean 127.0.0.1 or ::1, because some services listen on only one. The
 * address that worked is tried first the next time.
 */
export function createLocalhostDialer(): Dial {
  /** By port, so it has at most 65,535 entries. */
  const answered = new Map<number, string>();

  return async (driver, hostname, port, signal) => {
    if (!isLocalhost(hostname)) return await driver.openTcp(hostname, port, signal);
    const first = answered.get(port) ?? "127.0.0.1";
    const second = first === "::1" ? "127.0.0.1" : "::1";
    try {
      return await driver.openTcp(first, port, signal);
    } catch (error) {
      if (signal?.aborted) throw error;
      const connection = await driver.openTcp(second, port, signal).catch((other) => {
        throw describeBoth(hostname, port, error, other);
      });
      answered.set(port, second);
      return connection;
    }
  };
}

/** Opens a plain connection with a driver. */
export type Dial = (
  driver: Driver,
  hostname: string,
  port: number,
  signal?: AbortSignal,
) => Promise<PlainConnection>;

/** A machine without IPv6 fails in various ways, so a refusal from either address decides. */
function describeBoth(hostname: string, port: number, ...errors: unknown[]): unknown {
  const known = errors.filter((error) => error instanceof ConnectError);
  const told = known.find((error) => error.failure === "aborted" || error.failure === "timeout") ??
    known.find((error) => error.failure === "refused");
  if (told?.failure !== "refused") return told ?? errors[0];
  const message = `cannot connect to ${hostname} port ${port}: connection refused`;
  return new ConnectError("refused", message, { cause: told });
}
