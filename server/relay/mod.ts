export { Relay, type RelayOptions } from "./relay.ts";
export type { Gate } from "./tunnel/endpoint.ts";
export type { TunnelService } from "./service.ts";
export type {
  AllowanceInfo,
  OwnedTunnelInfo,
  RequestInfo,
  TunnelInfo,
  TunnelManagement,
} from "./management/management.ts";
export { MAX_ALLOWED_PORTS, MAX_DAYS, MAX_NAME } from "./management/limits.ts";
