import type { NetworkInterfaceInfo } from "node:os";

/** The result of `os.networkInterfaces()`. */
export type Interfaces = Readonly<
  Record<string, readonly Pick<NetworkInterfaceInfo, "address" | "family" | "internal">[] | undefined>
>;

/**
 * Matches interfaces for containers, virtual machines and tunnels inside this machine: `vEthernet (WSL)` on Windows,
 * `utun3` and `bridge100` on macOS, `docker0` on Linux. A phone cannot reach them.
 */
const VIRTUAL =
  /^(?:vEthernet|VirtualBox|VMware|ZeroTier|Tailscale|utun|awdl|llw|bridge|docker|br-|veth|virbr|vmnet|vnet|tap|tun|wg|zt)/i;

/**
 * Returns this machine's addresses for the local network, physical interfaces first. Link-local IPv6 addresses are left
 * out, because a URL cannot name them.
 */
export function listLanAddresses(interfaces: Interfaces, families: readonly string[]): string[] {
  const found = Object.entries(interfaces).flatMap(([name, list]) => (list ?? []).map((info) => ({ ...info, name })))
    .filter(({ family, internal, address }) => families.includes(family) && !internal && !/^fe[89ab]/i.test(address));
  // Windows also reports addresses that a machine assigns itself without a network (RFC 3927).
  const rank = ({ name, address }: { name: string; address: string }) =>
    address.startsWith("169.254.") ? 2 : VIRTUAL.test(name) ? 1 : 0;
  return found.sort((a, b) => rank(a) - rank(b)).map(({ address }) => address);
}
