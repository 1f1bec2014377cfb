import { type ApiClient, asRecord, notPortway } from "../api/mod.ts";

/** A persistent tunnel as its user sees it. */
export interface ListedTunnel {
  id: string;
  name: string;
  /** The default port's URL. */
  url: string;
  defaultPort: number;
  /** The local ports that may be carried beside the default one. */
  allowedPorts: "all" | number[];
  enabled: boolean;
  /** Whether an admin suspended it. */
  suspended: boolean;
  /** The sessions that carry it now. */
  live: { port: number; since: string | null }[];
}

/** A user's traffic in this month. */
export interface MonthUsage {
  bytes: number;
  /** Null for no limit. */
  bytesLimit: number | null;
  /** The reset date (ISO); null if the server does not send it. */
  resetsAt: string | null;
}

/** Fetches the persistent tunnels of the current account. Throws the client's errors. */
export async function fetchTunnels(api: ApiClient): Promise<ListedTunnel[]> {
  const { tunnels } = asRecord(await api.get("/api/v1/tunnels"));
  if (!Array.isArray(tunnels)) throw notPortway(api.server);
  return tunnels.map((one) => {
    const tunnel = parseTunnel(one);
    if (tunnel === null) throw notPortway(api.server);
    return tunnel;
  });
}

/** Fetches the caller's traffic. Throws the client's errors. */
export async function fetchUsage(api: ApiClient): Promise<MonthUsage> {
  const { bytes, bytesLimit, resetsAt } = asRecord(await api.get("/api/v1/usage"));
  if (typeof bytes !== "number") throw notPortway(api.server);
  return {
    bytes,
    bytesLimit: typeof bytesLimit === "number" ? bytesLimit : null,
    resetsAt: typeof resetsAt === "string" || typeof resetsAt === "number" ? toIsoDate(resetsAt) : null,
  };
}

function toIsoDate(time: string | number): string | null {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** Parses a tunnel; returns null for invalid values, such as a URL that could control a terminal. */
function parseTunnel(value: unknown): ListedTunnel | null {
  const { id, name, url, defaultPort, allowedPorts, enabled, suspended, live } = asRecord(value);
  if (typeof id !== "string" || typeof name !== "string" || typeof url !== "string" || !isPlainUrl(url)) return null;
  if (!isPort(defaultPort) || typeof enabled !== "boolean") return null;
  const ports = allowedPorts === "all" ? "all" : Array.isArray(allowedPorts) ? allowedPorts.filter(isPort) : null;
  if (ports === null) return null;
  return {
    id,
    name,
    url,
    defaultPort,
    allowedPorts: ports,
    enabled,
    suspended: suspended === true,
    live: Array.isArray(live) ? live.map(parseLive).filter((one) => one !== null) : [],
  };
}

function parseLive(value: unknown): { port: number; since: string | null } | null {
  const { port, since } = asRecord(value);
  if (!isPort(port)) return null;
  return { port, since: typeof since === "string" || typeof since === "number" ? toIsoDate(since) : null };
}

const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;

const isPlainUrl = (url: string) => /^https?:\/\/[\x21-\x7e]+$/.test(url) && URL.canParse(url);
