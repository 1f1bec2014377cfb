export { listen } from "./open.ts";
export { DEFAULT_LIMITS, type ListenerLimits } from "./limits.ts";
export { sendResponse, sendText } from "./send_response.ts";
export { ListenerTraffic } from "./traffic.ts";
export { BodyCut } from "./types.ts";
export type {
  Exchange,
  ExchangeEnv,
  ExchangeHandler,
  Listener,
  ListenerKind,
  ListenOptions,
  ResponseWriter,
} from "./types.ts";
