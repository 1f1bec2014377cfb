export { isPublicAddress } from "./addresses.ts";
export { bareHostname, createGuard, type Guard, type GuardOptions, portOf } from "./guard.ts";
export { createDialer, type Dial, type DialedConnection, type DialerOptions, type DialOptions } from "./dialer.ts";
export { createOwnAddressCheck, type OwnAddressCheck, type OwnAddressOptions } from "./own_addresses.ts";
export type { Resolver } from "./resolve.ts";
