import { errorResponse } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import { later } from "../../common/later.ts";
import { type Answer, type Handler, isHostOf, Lazy } from "../http/mod.ts";
import type { OpenedSite } from "./site.ts";
import type { HqOptions } from "./types.ts";

/** The management site. Its creator closes it. */
export interface Hq {
  /** Handles its pages. */
  readonly pages: Handler;
  /** Handles unknown addresses in browsers. It must be the last handler. */
  readonly missing: Handler;
  /** Loads the page modules. @throws HttpError 500 when that fails */
  load(): Promise<void>;
  close(): Promise<void>;
}

/** First segments in HQ's paths. */
const PATHS: ReadonlySet<string> = new Set([
  "account",
  "admin",
  "api-docs",
  "authorize",
  "device",
  "forgot",
  "hq",
  "invitation",
  "reset",
  "setup",
  "sign-in",
  "sign-out",
  "sign-up",
  "tunnels",
  "views",
]);

/** Creates the management site. Its fifty modules load with the first page, or when the server is idle. */
export function createHq(options: HqOptions): Hq {
  const { log, url } = options;
  const site = new Lazy<OpenedSite>({
    name: "HQ",
    log,
    async load() {
      const { openSite }: typeof import("./site.ts") = await import(later("./site.ts"));
      return openSite(options);
    },
  });
  return {
    pages: {
      handle(exchange) {
        if (!isHostOf(exchange.host, url) || !isHqPath(exchange)) return undefined;
        return site.use<Answer>(({ handle }) => handle(exchange));
      },
      refuse: (error, exchange) =>
        site.loaded?.refuse(error, exchange) ?? errorResponse(error, exchange.header("accept")),
    },
    missing: {
      handle(exchange) {
        if (!isHostOf(exchange.host, url) || !isForPeople(exchange)) return undefined;
        return site.use<Answer>(({ renderMissing }) => renderMissing());
      },
    },
    load: async () => void await site.load(),
    close: async () => void await site.close(),
  };
}

/** Whether a path belongs to HQ. The root does for browsers only; programs get a text. */
function isHqPath(exchange: Exchange): boolean {
  const first = /^\/([^/?]*)/.exec(exchange.path)?.[1] ?? "";
  return first === "" ? /^\/(?:\?|$)/.test(exchange.path) && isForPeople(exchange) : PATHS.has(first);
}

function isForPeople(exchange: Exchange): boolean {
  const { method } = exchange;
  return (method === "GET" || method === "HEAD") && (exchange.header("accept")?.includes("text/html") ?? false);
}
