import { ConnectError, type Driver, type PlainConnection } from "./types.ts";

/** `localhost` and the names below it, which are this machine (RFC 6761, section 6.3) though resolvers may not say so. */
export function isLocalhost(hostname: string): boolean {
  return /^(?:.*\.)?localhost\.?$/i.test(hostname);
}

/**
 * Opens plain connections, where a name for this machine means 127.0.0.1 or ::1, whichever answers: some services
 * listen on one of them only. The one that answered is tried first the next time.
 */
export function createLocalhostDialer(): Dial {
  /** By port, so it never has more than 65,535 entries. */
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

/** A machine without IPv6 fails oddly there, so where one of two was refused that is what counts. */
function describeBoth(hostname: string, port: number, ...errors: unknown[]): unknown {
  const known = errors.filter((error) => error instanceof ConnectError);
  const told = known.find((error) => error.failure === "aborted" || error.failure === "timeout") ??
    known.find((error) => error.failure === "refused");
  if (told?.failure !== "refused") return told ?? errors[0];
  const message = `cannot connect to ${hostname} port ${port}: connection refused`;
  return new ConnectError("refused", message, { cause: told });
}
