export { createRelay, type Relay, type RelayOptions } from "./relay.ts";
