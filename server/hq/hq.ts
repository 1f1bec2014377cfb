import { errorResponse } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { later } from "../../common/later.ts";
import type { Answer, Face } from "../face/mod.ts";
import { isHostOf } from "./own_host.ts";
import type { OpenedSite } from "./site.ts";
import type { HqOptions } from "./types.ts";

/** The management site. Whoever creates it closes it. */
export interface Hq {
  /** Its pages. */
  readonly pages: Face;
  /** What browsers get for addresses that nobody has: to be asked last. */
  readonly missing: Face;
  /** Ends what it has put off. */
  close(): void;
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

/** After the start, in milliseconds: the server is at work by then, and whoever opens the first page need not wait. */
const LOAD_AFTER_MS = 1000;

/** The management site, whose fifty modules are loaded when a page is wanted or the server has started. */
export function createHq(options: HqOptions): Hq {
  const { url } = options;
  let site: OpenedSite | null = null;
  const load = async (): Promise<OpenedSite> => {
    const { openSite }: typeof import("./site.ts") = await import(later("./site.ts"));
    return site ??= openSite(options);
  };
  const withSite = (answer: (site: OpenedSite) => Answer | Promise<Answer>) =>
    site === null ? load().then(answer) : answer(site);
  // A page that cannot be loaded is told to whoever asks for it.
  const timer = setTimeout(() => void load().catch(() => {}), LOAD_AFTER_MS);
  return {
    pages: {
      answer(exchange) {
        if (!isHostOf(exchange.host, url) || !isPlace(exchange)) return undefined;
        return withSite(({ answer }) => answer(exchange));
      },
      refuse: (error, exchange) =>
        site === null ? errorResponse(error, exchange.header("accept")) : site.refuse(error, exchange),
    },
    missing: {
      answer(exchange) {
        if (!isHostOf(exchange.host, url) || !isForPeople(exchange)) return undefined;
        return withSite(({ answerMissing }) => answerMissing());
      },
    },
    close: () => clearTimeout(timer),
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
