import type { NetworkInterfaceInfo } from "node:os";

/** What `os.networkInterfaces()` gives. */
export type Interfaces = Readonly<
  Record<string, readonly Pick<NetworkInterfaceInfo, "address" | "family" | "internal">[] | undefined>
>;

/**
 * Names that networks inside a machine have, of its containers, virtual machines and tunnels: Windows' `vEthernet (WSL)`,
 * macOS' `utun3` and `bridge100`, Linux' `docker0`. A phone reaches none of them.
 */
const VIRTUAL =
  /^(?:vEthernet|VirtualBox|VMware|ZeroTier|Tailscale|utun|awdl|llw|bridge|docker|br-|veth|virbr|vmnet|vnet|tap|tun|wg|zt)/i;

/**
 * Addresses of this machine that others on the network may reach it at, those of its real networks first. Of an IPv6
 * address that holds on its own link no URL can be made, so there is none.
 */
export function listLanAddresses(interfaces: Interfaces, families: readonly string[]): string[] {
  const found = Object.entries(interfaces).flatMap(([name, list]) => (list ?? []).map((info) => ({ ...info, name })))
    .filter(({ family, internal, address }) => families.includes(family) && !internal && !/^fe[89ab]/i.test(address));
  // Of what a machine gives itself where no network has given it one (RFC 3927), Windows tells too.
  const rank = ({ name, address }: { name: string; address: string }) =>
    address.startsWith("169.254.") ? 2 : VIRTUAL.test(name) ? 1 : 0;
  return found.sort((a, b) => rank(a) - rank(b)).map(({ address }) => address);
}
