export { addAdminAudit } from "./audit.tsx";
export { addAdminTunnels } from "./tunnels.tsx";
export type { AnyTunnel, TunnelAdministration } from "./types.ts";
export { addUsers } from "./users.tsx";
