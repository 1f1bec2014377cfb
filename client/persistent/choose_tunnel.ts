import type { ListedTunnel } from "./tunnels.ts";

/** A tunnel, or a port of one, that cannot be used. The message is a line for the user. */
export class TunnelUnusable extends Error {
  override name = "TunnelUnusable";
}

/**
 * The tunnel that the user means: by its name, or by a beginning that only one name has.
 * @throws TunnelUnusable
 */
export function chooseTunnel(tunnels: readonly ListedTunnel[], given: string): ListedTunnel {
  const exact = tunnels.find(({ name }) => name === given);
  if (exact !== undefined) return exact;
  const begin = tunnels.filter(({ name }) => name.startsWith(given));
  if (begin.length === 1) return begin[0];
  if (tunnels.length === 0) {
    throw new TunnelUnusable("this account has no persistent tunnel: make one on the server's site");
  }
  const names = (some: readonly ListedTunnel[]) => some.map(({ name }) => name).join(", ");
  if (begin.length > 1) throw new TunnelUnusable(`"${given}" is more than one tunnel: ${names(begin)}`);
  throw new TunnelUnusable(`there is no tunnel "${given}" in this account, only ${names(tunnels)}`);
}

/**
 * Refuses a tunnel that the server would carry nothing through.
 * @throws TunnelUnusable
 */
export function checkUsable({ name, enabled, suspended }: ListedTunnel): void {
  if (suspended) throw new TunnelUnusable(`the tunnel "${name}" was suspended by an admin of the server`);
  if (!enabled) throw new TunnelUnusable(`the tunnel "${name}" is switched off: switch it on on the server's site`);
}

/**
 * Refuses a port that a tunnel does not allow.
 * @throws TunnelUnusable
 */
export function checkPort({ name, defaultPort, allowedPorts }: ListedTunnel, port: number): void {
  if (allowedPorts === "all" || port === defaultPort || allowedPorts.includes(port)) return;
  const allowed = [...new Set([defaultPort, ...allowedPorts])].join(", ");
  throw new TunnelUnusable(`the tunnel "${name}" does not allow port ${port}, only ${allowed}`);
}

/** Where a port of a tunnel is reached: those other than the default one have their number in the name. */
export function urlOfPort({ url, defaultPort }: ListedTunnel, port: number): string {
  return port === defaultPort ? url : url.replace(/^(https?:\/\/[^./:]+)/, `$1--${port}`);
}
