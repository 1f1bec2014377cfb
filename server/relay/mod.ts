export { Relay, type RelayOptions } from "./relay.ts";
export {
  type AllowanceInfo,
  type OwnedTunnelInfo,
  type RequestInfo,
  type TunnelInfo,
  TunnelManagement,
} from "./management/management.ts";
export { MAX_ALLOWED_PORTS, MAX_DAYS, MAX_NAME } from "./management/input.ts";
