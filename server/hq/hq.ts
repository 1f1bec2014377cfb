import { Hono } from "hono";
import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import type { ApiObject } from "../../common/open_api.ts";
import { openPageAssets, type PageAssets } from "../../common/page_assets.ts";
import { isHarmless, requireOwnOrigin } from "../access/mod.ts";
import type { Accounts } from "../accounts/mod.ts";
import type { ViewDesk } from "../captures/mod.ts";
import type { Face } from "../face/mod.ts";
import type { TunnelManagement } from "../relay/mod.ts";
import { addAccount } from "./account/mod.ts";
import { addAdmin } from "./admin/mod.ts";
import { addAuthorize, addDevice } from "./consent/mod.ts";
import { addApiDocs } from "./docs/api_docs.tsx";
import { addInvitation, addPasswordReset, addSignIn, addSignUp } from "./entry/mod.ts";
import { isHostOf } from "./own_host.ts";
import { ASSETS_PATH, goTo, renderError } from "./page.tsx";
import { addLanding } from "./start/landing.tsx";
import { addTunnels } from "./tunnels/mod.ts";
import type { HqEnv, HqSite, Viewer } from "./types.ts";
import { addViewPages, VIEW_ASSETS } from "./views/mod.ts";

/** What the management site is made of. */
export interface HqOptions {
  /** HQ's own URL: it answers at that host alone. */
  url: URL;
  accounts: Accounts;
  tunnels: TunnelManagement;
  /** Request views, for members. */
  views: ViewDesk;
  /** The OpenAPI document of this server. */
  readApi(): ApiObject;
}

/** The management site. */
export interface Hq {
  /** Its pages. */
  readonly pages: Face;
  /** What browsers get for addresses that nobody has: to be asked last. */
  readonly missing: Face;
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

/** Opens the management site. */
export function createHq({ url, accounts, tunnels, views, readApi }: HqOptions): Hq {
  const site: HqSite = {
    url,
    assets: openPageAssets({ folders: [new URL("./assets/", import.meta.url), ...VIEW_ASSETS] }),
    canSignUp: accounts.entry.policy === "open",
  };
  const app = new Hono<HqEnv>();
  app.use(async (context, next) => {
    const { exchange } = context.env;
    context.set("site", site);
    context.set("viewer", null);
    if (!isHarmless(exchange)) requireOwnOrigin(exchange, url.origin);
    // Who may not come in may still leave.
    if (context.req.path !== "/sign-out") context.set("viewer", await findViewer(exchange, accounts));
    await next();
  });
  addLanding(app, accounts);
  addSignIn(app, accounts);
  addSignUp(app, accounts);
  addPasswordReset(app, accounts);
  addInvitation(app, accounts);
  addAuthorize(app, accounts);
  addDevice(app, accounts);
  addTunnels(app, tunnels);
  addViewPages(app, views);
  addAccount(app, accounts, tunnels);
  addAdmin(app, accounts, tunnels);
  addApiDocs(app, readApi);
  app.notFound(() => {
    throw nothingHere();
  });
  app.onError((error, { env, var: { viewer } }) => {
    // What is no error of ours goes into the log first.
    if (!(error instanceof HttpError)) throw error;
    return refusePage(site, viewer, error, env.exchange);
  });
  const refuse = (error: HttpError, exchange: Exchange) => refusePage(site, null, error, exchange);
  return {
    pages: {
      answer(exchange) {
        if (!isHostOf(exchange.host, url) || !isPlace(exchange)) return undefined;
        if (exchange.path.startsWith(ASSETS_PATH)) return answerAsset(exchange, site.assets);
        return Promise.resolve(app.fetch(exchange.request, { exchange }));
      },
      refuse,
    },
    missing: {
      answer(exchange) {
        if (!isHostOf(exchange.host, url) || !isForPeople(exchange)) return undefined;
        return renderError(site, null, nothingHere());
      },
    },
  };
}

async function findViewer(exchange: Exchange, { authenticate, accountsOf }: Accounts): Promise<Viewer | null> {
  if (exchange.header("cookie") === null) return null;
  const principal = await authenticate(exchange);
  // Tokens are for the API.
  if (principal?.via !== "session") return null;
  return { ...principal, accounts: await accountsOf(principal) };
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

/** `/hq/<version>/<name>`, or without the version for what has to find a file by its name alone. */
function answerAsset({ path, method, request }: Exchange, assets: PageAssets): Response {
  const [version, name] = path.slice(ASSETS_PATH.length).replace(/\?.*$/s, "").split("/");
  if (method !== "GET" && method !== "HEAD") {
    throw new HttpError(405, "method_not_allowed", "This is a file to be read.");
  }
  const { headers } = request;
  const answer = version === assets.version
    ? assets.answer(name, headers.get("accept-encoding"))
    : assets.answerLatest(name ?? version, headers);
  if (answer === null) throw nothingHere();
  return answer;
}

/** A page for what went wrong; who only has to sign in is asked to. */
function refusePage(site: HqSite, viewer: Viewer | null, error: HttpError, exchange: Exchange): Response {
  if (error.code === "unauthorized") {
    const next = exchange.method === "GET" ? `?next=${encodeURIComponent(exchange.path)}` : "";
    return goTo(`/sign-in${next}`);
  }
  return renderError(site, viewer, error);
}

const nothingHere = (): HttpError => new HttpError(404, "not_found", "There is nothing at this address.");
