export { isPublicAddress } from "./addresses.ts";
export { bareHostname, createGuard, type Guard, type GuardOptions } from "./guard.ts";
export { type ConnectTimes, createGuardedConnector, type GuardedConnectorOptions } from "./connector.ts";
export type { Resolver } from "./resolve.ts";
