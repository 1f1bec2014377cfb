export { createHandlerTarget } from "./handler_target.ts";
export { createEphemeralTunnel, fetchEphemeralTunnel, type OwnedTunnel } from "./relay_api.ts";
export { exposeOne, exposeSeveral, type PublicPorts, type TunnelPorts } from "./rewrite/mod.ts";
export { type SavedTunnel, SavedTunnels } from "./saved_tunnels.ts";
export type { CarriedRequest, CarriedTunnel } from "./session.ts";
export type { Target } from "./target.ts";
export { type EndCause, runTunnel, type RunTunnelOptions, type TunnelEnd, type TunnelEvents } from "./tunnel.ts";
export { createUpstream, type UpstreamOptions } from "./upstream.ts";
