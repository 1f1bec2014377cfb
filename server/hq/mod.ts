export type { AnyTunnel, TunnelAdministration } from "./admin/mod.ts";
export { createHq, type Hq, type HqOptions } from "./hq.ts";
export type { Allowance, RecentRequest, TunnelForm, TunnelInfo, TunnelManagement } from "./tunnels/mod.ts";
