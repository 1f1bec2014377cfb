import type { ExchangeHandler, ListenOptions } from "../../types.ts";
import type { Http2Front } from "./types.ts";

export function openNodeHttp2(_options: ListenOptions, _handler: ExchangeHandler): Http2Front {
  throw new TypeError("not yet");
}
