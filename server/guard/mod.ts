export { isPublicAddress } from "./addresses.ts";
export { bareHostname, createGuard, type Guard, type GuardOptions } from "./guard.ts";
export { createDialer, type Dial, type DialedConnection, type DialerOptions, type DialOptions } from "./dialer.ts";
export type { Resolver } from "./resolve.ts";
