export { loadCaCerts } from "./ca_certs.ts";
export { type ConnectorOptions, openAcceptor, openConnector } from "./open.ts";
export { setForAccepted } from "./socket_options/deno.ts";
export { createConnectionPair } from "./pair.ts";
export { type Environment, type ProxyRules, readProxyRules } from "./proxy_rules.ts";
export { type Direction, splice, type Spliced, type SpliceOptions } from "./splice.ts";
export {
  type Accepted,
  type AcceptOptions,
  type Acceptor,
  type Certificate,
  type Connect,
  ConnectError,
  type ConnectFailure,
  type Connection,
  type ConnectOptions,
  type Driver,
  type PlainConnection,
  readFor,
  type Receiver,
  type Sender,
  type TlsOptions,
  writeFor,
} from "./types.ts";
