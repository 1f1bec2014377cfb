import { isIP, type Socket } from "node:net";
import { buildConnector } from "undici";
import { bareHostname, type Guard } from "./guard.ts";

/** How long a connection took to get. */
export interface ConnectTimes {
  /** When it was asked for, by `performance.now()`. */
  startedAt: number;
  dnsMs: number;
  /** TCP and TLS together. */
  connectMs: number;
}

export interface GuardedConnectorOptions {
  guard: Guard;
  /** For each address tried. */
  timeoutMs: number;
  /** PEM texts trusted besides the usual ones. */
  caCerts?: readonly string[];
  /** Told of every connection that was opened. */
  onConnect?: (origin: string, times: ConnectTimes) => void;
}

/**
 * A connector for undici that resolves a name once, has all its addresses checked by the guard and dials exactly
 * those. A name that resolves to something else a moment later changes nothing; SNI and certificate stay the name's.
 */
export function createGuardedConnector(options: GuardedConnectorOptions): buildConnector.connector {
  const { guard, onConnect } = options;
  // Left out, `ca` is the usual set; given, it replaces that set, so undici is asked for it only when wanted.
  const ca = options.caCerts?.length ? { ca: [...options.caCerts] } : {};
  const dial = buildConnector({ timeout: options.timeoutMs, ...ca });

  async function connect(target: buildConnector.Options): Promise<Socket> {
    const startedAt = performance.now();
    const addresses = await guard.resolve(target.hostname);
    const resolvedAt = performance.now();
    const socket = await dialFirst(addresses, target, dial);
    onConnect?.(`${target.protocol}//${target.host ?? target.hostname}`, {
      startedAt,
      dnsMs: resolvedAt - startedAt,
      connectMs: performance.now() - resolvedAt,
    });
    return socket;
  }

  return (target, callback) => {
    connect(target).then((socket) => callback(null, socket), (error) => callback(error, null));
  };
}

/** Dials one address after the other until one answers. Rejects with what the last one said. */
async function dialFirst(addresses: string[], target: buildConnector.Options, dial: buildConnector.connector) {
  const name = bareHostname(target.hostname);
  // SNI takes names only (RFC 6066, section 3).
  const servername = isIP(name) === 0 ? name : undefined;
  let failure: unknown;
  for (const hostname of addresses) {
    try {
      return await new Promise<Socket>((resolve, reject) => {
        const done: buildConnector.Callback = (...[error, socket]) => error === null ? resolve(socket) : reject(error);
        dial({ ...target, hostname, servername }, done);
      });
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
