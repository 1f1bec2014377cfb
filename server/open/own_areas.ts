import { delay } from "../../common/delay.ts";
import { later } from "../../common/later.ts";
import type { Logger } from "../../common/log.ts";
import type { Accounts } from "../accounts/mod.ts";
import type { CaptureFigures } from "../captures/mod.ts";
import type { ServerConfig } from "../config.ts";
import { type Area, type Cors, isHostOf, Lazy, shareWithPages } from "../http/mod.ts";
import { createDocs } from "../docs/mod.ts";
import { createHq } from "../hq/mod.ts";
import type { KnowOwnOptions } from "./know_own.ts";
import type { Replays } from "./replays.ts";
import type { Relay } from "../relay/mod.ts";
import type { Store } from "../store/mod.ts";

/** The dependencies of {@link OwnAreas}. */
export interface OwnAreasOptions extends KnowOwnOptions {
  config: ServerConfig;
  store: Store;
  relay: Relay;
  cors: Cors;
  /** HQ's URL. */
  hqUrl: URL;
  /** The server's own host names. */
  ownHosts: readonly string[];
  /** The URL below whose host ephemeral tunnels appear. */
  ephemeralUrl: URL;
  log: Logger;
}

/** The areas on the server's own hosts, without the proxy. The caller closes them. */
export interface OwnAreas {
  /** In the order in which their handlers see a request. */
  readonly areas: readonly Area[];
  readonly accounts: Accounts;
  /** Reads the counters for captured calls. */
  readFigures(): CaptureFigures;
}

/** Loads and opens accounts, request views, the API and HQ. */
export async function openOwnAreas(options: OwnAreasOptions): Promise<OwnAreas> {
  const { config, store, relay, cors, hqUrl, ownHosts, ephemeralUrl, log, url } = options;
  const { desk, createApiHandler, createTlsAsk, openAccounts, openCaptures } = await loadModules(relay);
  const accounts = openAccounts(config, store, hqUrl, log);
  accounts.onEnded((ended) => relay.endSessionsOf(ended));
  const replays = openReplaysLazily(options);
  const send: Replays["send"] = async (request) => await (await replays.load()).send(request);
  const { authenticate, onEnded, note } = accounts;
  const captures = openCaptures(config, { store, authenticate, onEnded, log, send, note }, url);
  const isServed = async (host: string) => ownHosts.includes(host) || await relay.hasTunnelAt(host);
  const about = { baseUrl: url.origin, files: config.proxyFiles !== null, openPaths: false, isAlone: false };
  const api = createApiHandler({
    areas: [desk.api, accounts.api, captures.api, createTlsAsk(isServed)],
    about,
    async describeProxy() {
      const { proxyApi }: typeof import("../proxy/mod.ts") = await import(later("../proxy/mod.ts"));
      return proxyApi(about);
    },
  });
  const hq = createHq({
    url: hqUrl,
    ephemeralUrl,
    accounts,
    tunnels: desk.management,
    views: captures.service,
    readApi: api.describe,
    log,
  });
  return {
    areas: [
      { handlers: [], close: async () => (await replays.close())?.close() },
      captures,
      { handlers: [createDocs({ isOwnHost: (host) => isHostOf(host, hqUrl) })], close() {} },
      { handlers: [...accounts.handlers, hq.pages], close: () => accounts.close() },
      { handlers: [shareWithPages(cors, api), hq.missing], load: () => hq.load(), close: () => hq.close() },
    ],
    accounts,
    readFigures: () => captures.readFigures(),
  };
}

/** Milliseconds between module loads, for requests that arrived meanwhile. */
const PAUSE_MS = 2;

/**
 * Loads the modules one after the other, so that tunnel visitors wait for one module at most. No area opens before all
 * modules have loaded, so a failure leaves no open resources.
 */
async function loadModules(relay: Relay) {
  // The largest library loads alone.
  await import("zod");
  await delay(PAUSE_MS);
  const desk = await relay.openService();
  await delay(PAUSE_MS);
  const api: typeof import("../api/api.ts") = await import(later("../api/api.ts"));
  const tlsAsk: typeof import("../api/tls_ask.ts") = await import(later("../api/tls_ask.ts"));
  await delay(PAUSE_MS);
  const accounts: typeof import("./accounts.ts") = await import(later("./accounts.ts"));
  await delay(PAUSE_MS);
  const captures: typeof import("./captures.ts") = await import(later("./captures.ts"));
  await delay(PAUSE_MS);
  return { desk, ...api, ...tlsAsk, ...accounts, ...captures };
}

function openReplaysLazily(options: OwnAreasOptions): Lazy<Replays> {
  return new Lazy({
    name: "replays",
    log: options.log,
    async load() {
      const { openReplays }: typeof import("./replays.ts") = await import(later("./replays.ts"));
      return openReplays(options);
    },
  });
}
