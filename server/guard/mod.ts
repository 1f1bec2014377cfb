export { parseAllowList } from "./allow_list.ts";
export { Guard, type GuardOptions } from "./guard.ts";
export { type DialedConnection, Dialer, type DialerOptions, type DialOptions } from "./dialer.ts";
export { createOwnAddressCheck, type OwnAddressCheck, type OwnAddressOptions } from "./own_addresses.ts";
export type { Resolver } from "./resolve.ts";
