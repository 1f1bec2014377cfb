import type { ListedTunnel } from "./tunnels.ts";

/** Thrown for a tunnel or port that cannot be used. The message is one line for the user. */
export class TunnelUnusable extends Error {
  override name = "TunnelUnusable";
}

/**
 * Finds a tunnel by its name, or by the beginning of exactly one name.
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
  if (begin.length > 1) throw new TunnelUnusable(`"${given}" matches more than one tunnel: ${names(begin)}`);
  throw new TunnelUnusable(`no tunnel matches "${given}": this account has ${names(tunnels)}`);
}

/**
 * Checks that the server would carry a tunnel.
 * @throws TunnelUnusable
 */
export function checkUsable({ name, enabled, suspended }: ListedTunnel): void {
  if (suspended) throw new TunnelUnusable(`the tunnel "${name}" was suspended by an admin of the server`);
  if (!enabled) throw new TunnelUnusable(`the tunnel "${name}" is disabled: enable it on the server's website`);
}

/**
 * Checks that a tunnel allows a port.
 * @throws TunnelUnusable
 */
export function checkPort({ name, defaultPort, allowedPorts }: ListedTunnel, port: number): void {
  if (allowedPorts === "all" || port === defaultPort || allowedPorts.includes(port)) return;
  const allowed = [...new Set([defaultPort, ...allowedPorts])].join(", ");
  throw new TunnelUnusable(`the tunnel "${name}" does not allow port ${port}, only ${allowed}`);
}

/** Returns the URL of a tunnel's port. Ports other than the default one appear in the host name. */
export function urlOfPort({ url, defaultPort }: ListedTunnel, port: number): string {
  return port === defaultPort ? url : url.replace(/^(https?:\/\/[^./:]+)/, `$1--${port}`);
}
