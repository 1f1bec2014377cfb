import type { ListedTunnel } from "./tunnels.ts";

/** Returns one line per tunnel, numbered from 1. */
export function listTunnels(tunnels: readonly ListedTunnel[]): string[] {
  const digits = String(tunnels.length).length;
  const names = Math.max(...tunnels.map(({ name }) => name.length));
  const urls = Math.max(...tunnels.map(({ url }) => url.length));
  return tunnels.map((tunnel, at) =>
    [String(at + 1).padStart(digits), tunnel.name.padEnd(names), tunnel.url.padEnd(urls), describeState(tunnel)].join(
      "  ",
    )
  );
}

/** Returns all fields of a tunnel, named as on the server's page. */
export function detailTunnel(tunnel: ListedTunnel): [name: string, value: string][] {
  const { name, defaultPort, allowedPorts, enabled, suspended, url, live } = tunnel;
  return [
    ["Name", name],
    ["Default port", String(defaultPort)],
    ["Allowed ports", allowedPorts === "all" ? "All" : allowedPorts.join(", ")],
    ["Enabled", `${enabled}${suspended ? ", suspended by an admin of the server" : ""}`],
    ["Public URL", url],
    ["Live", live.length === 0 ? "no" : live.map(describeLive).join(", ")],
  ];
}

const describeLive = ({ port, since }: ListedTunnel["live"][number]) =>
  since === null ? `port ${port}` : `port ${port} since ${since.slice(0, 16).replace("T", " ")} UTC`;

function describeState({ enabled, suspended, live, defaultPort }: ListedTunnel): string {
  if (suspended) return "suspended";
  if (!enabled) return "off";
  if (live.length === 0) return "on";
  const isPlain = live.length === 1 && live[0].port === defaultPort;
  return isPlain ? "on, live" : `on, live on ${live.map(({ port }) => port).join(", ")}`;
}
