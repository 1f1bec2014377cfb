export { BodyCut } from "./types.ts";
export { listen } from "./open.ts";
export type {
  Exchange,
  ExchangeEnv,
  ExchangeHandler,
  Listener,
  ListenerKind,
  ListenOptions,
  ServerSocket,
  UpgradeOptions,
} from "./types.ts";
