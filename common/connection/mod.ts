export { loadCaCerts } from "./ca_certs.ts";
export { type ConnectorOptions, openConnector } from "./open.ts";
export { type Environment, type ProxyRules, readProxyRules } from "./proxy_rules.ts";
export { type Direction, splice, type Spliced, type SpliceOptions } from "./splice.ts";
export {
  type Connect,
  ConnectError,
  type ConnectFailure,
  type Connection,
  type ConnectOptions,
  type Driver,
  type PlainConnection,
  type TlsOptions,
} from "./types.ts";
