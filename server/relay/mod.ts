export { Relay, type RelayOptions } from "./relay.ts";
