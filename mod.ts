/**
 * Portway as a library: a server to embed, and the parts a client of your own is made of.
 *
 * @module
 */
export { type RunningServer, startServer } from "./server/main.ts";
export { type ServerConfig, serverOptions } from "./server/config.ts";
export { createLogger, type Logger, silentLogger } from "./common/log.ts";
export { type OptionValues, resolveOptions } from "./common/options.ts";
export { openConnector } from "./common/connection/mod.ts";
export {
  createEphemeralTunnel,
  createHandlerTarget,
  createUpstream,
  type OwnedTunnel,
  runTunnel,
  type RunTunnelOptions,
  type Target,
  type TunnelEnd,
  type TunnelEvents,
} from "./client/tunnel/mod.ts";
