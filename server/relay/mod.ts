export { Relay, type RelayOptions } from "./relay.ts";
export {
  type AllowanceInfo,
  type OwnedTunnelInfo,
  type RequestInfo,
  type TunnelInfo,
  TunnelManagement,
} from "./management/management.ts";
