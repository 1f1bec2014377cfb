import type { Exchange, ExchangeHandler } from "../../net/listener/mod.ts";
import type { Logger } from "../../common/log.ts";
import { createApp } from "./app.ts";
import type { Answer, Area, Lazy } from "../http/mod.ts";

/** Areas that load together, in the order in which their handlers see a request. */
export interface LoadedAreas {
  readonly areas: readonly Area[];
}

/**
 * Creates an area that loads other areas with its first request.
 * @param prefix the beginning of its paths; every path if left out
 */
export function createLazyArea(lazy: Lazy<LoadedAreas>, log: Logger, prefix?: string): Area {
  let app: ExchangeHandler | null = null;
  const load = (exchange: Exchange) =>
    lazy.use<Answer>(({ areas }) => {
      app ??= createApp(areas.flatMap(({ handlers }) => handlers), log);
      return app(exchange);
    });
  return {
    handlers: [{ prefix, handle: (exchange) => app === null ? load(exchange) : app(exchange) }],
    async load() {
      for (const area of (await lazy.load()).areas) await area.load?.();
    },
    async drain(signal) {
      await Promise.all(lazy.loaded?.areas.map((area) => area.drain?.(signal)) ?? []);
    },
    async close() {
      const loaded = await lazy.close();
      for (const area of loaded?.areas.toReversed() ?? []) await area.close();
    },
  };
}
