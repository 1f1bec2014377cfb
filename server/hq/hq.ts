import { errorResponse } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import { later } from "../../common/later.ts";
import { type Answer, type Handler, isHostOf, Lazy } from "../http/mod.ts";
import type { OpenedSite } from "./site.ts";
import type { HqOptions } from "./types.ts";

/** The management site. Whoever creates it closes it. */
export interface Hq {
  /** Its pages. */
  readonly pages: Handler;
  /** What browsers get for addresses that nobody has: to be asked last. */
  readonly missing: Handler;
  /** Loads what its pages are made of. @throws HttpError 500 when that fails */
  load(): Promise<void>;
  close(): Promise<void>;
}

/** First parts of the paths that are HQ's. */
const PLACES: ReadonlySet<string> = new Set([
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

/** The management site, whose fifty modules are loaded when a page is wanted or the server has time for it. */
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
        if (!isHostOf(exchange.host, url) || !isPlace(exchange)) return undefined;
        return site.use<Answer>(({ answer }) => answer(exchange));
      },
      refuse: (error, exchange) =>
        site.loaded?.refuse(error, exchange) ?? errorResponse(error, exchange.header("accept")),
    },
    missing: {
      handle(exchange) {
        if (!isHostOf(exchange.host, url) || !isForPeople(exchange)) return undefined;
        return site.use<Answer>(({ answerMissing }) => answerMissing());
      },
    },
    load: async () => void await site.load(),
    close: async () => void await site.close(),
  };
}

/** Whether a path is HQ's. The root is so for browsers alone: programs get a text that greets them. */
function isPlace(exchange: Exchange): boolean {
  const first = /^\/([^/?]*)/.exec(exchange.path)?.[1] ?? "";
  return first === "" ? /^\/(?:\?|$)/.test(exchange.path) && isForPeople(exchange) : PLACES.has(first);
}

function isForPeople(exchange: Exchange): boolean {
  const { method } = exchange;
  return (method === "GET" || method === "HEAD") && (exchange.header("accept")?.includes("text/html") ?? false);
}
