import type { Exchange, ExchangeHandler } from "../../net/listener/mod.ts";
import type { Logger } from "../../common/log.ts";
import { createApp } from "./app.ts";
import type { Answer, Area, Lazy } from "../http/mod.ts";

/** Areas that are loaded together, in the order in which their handlers are asked. */
export interface LoadedAreas {
  readonly areas: readonly Area[];
}

/**
 * Areas as one that is there before they are.
 * @param takes whether a request is theirs
 */
export function createLazyArea(lazy: Lazy<LoadedAreas>, takes: (exchange: Exchange) => boolean, log: Logger): Area {
  let handler: ExchangeHandler | null = null;
  const answer = (exchange: Exchange) =>
    lazy.use<Answer>(({ areas }) => {
      handler ??= createApp(areas.flatMap(({ handlers }) => handlers), log);
      return handler(exchange);
    });
  return {
    handlers: [{ handle: (exchange) => takes(exchange) ? answer(exchange) : undefined }],
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
