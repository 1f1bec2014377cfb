import { Hono } from "hono";
import { HttpError, nothingHere } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import { openPageAssets, type PageAssets } from "../../web/page_assets.ts";
import { isHarmless, requireOwnOrigin } from "../access/mod.ts";
import type { Accounts } from "../accounts/mod.ts";
import type { Answer } from "../http/mod.ts";
import { addAccount } from "./account/mod.ts";
import { addAdmin } from "./admin/mod.ts";
import { addAuthorize } from "./consent/authorize.tsx";
import { addDevice } from "./consent/device.tsx";
import { addApiDocs } from "./docs/api_docs.tsx";
import { addInvitation } from "./entry/invitation.tsx";
import { addPasswordReset } from "./entry/password.tsx";
import { addSignIn } from "./entry/sign_in.tsx";
import { addSignUp } from "./entry/sign_up.tsx";
import { ASSETS_PATH, goTo, renderError } from "./page.tsx";
import { addLanding } from "./start/landing.tsx";
import { addTunnels } from "./tunnels/mod.ts";
import type { HqEnv, HqOptions, HqSite, Viewer } from "./types.ts";
import { addViewPages, VIEW_ASSETS } from "./views/mod.ts";

/** HQ's handlers, with all pages loaded. */
export interface OpenedSite {
  /** Handles a page, a form or a file. */
  readonly handle: (exchange: Exchange) => Answer | Promise<Answer>;
  readonly refuse: (error: HttpError, exchange: Exchange) => Response;
  /** Renders the page for unknown addresses. */
  readonly renderMissing: () => Response | Promise<Response>;
}

/** Creates HQ's routes and reads the files that its pages load. */
export function openSite({ url, ephemeralUrl, accounts, tunnels, views, readApi }: HqOptions): OpenedSite {
  const site: HqSite = {
    url,
    ephemeralUrl,
    assets: openPageAssets({ folders: [new URL("./assets/", import.meta.url), ...VIEW_ASSETS] }),
    canSignUp: accounts.entry.policy === "open",
  };
  const app = new Hono<HqEnv>();
  app.use(async (context, next) => {
    const { exchange } = context.env;
    context.set("site", site);
    context.set("viewer", null);
    if (!isHarmless(exchange)) requireOwnOrigin(exchange, url.origin);
    // A suspended user can still sign out.
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
    // The app logs errors that are no HttpError.
    if (!(error instanceof HttpError)) throw error;
    return refusePage(site, viewer, error, env.exchange);
  });
  return {
    handle: (exchange) =>
      exchange.path.startsWith(ASSETS_PATH)
        ? serveAsset(exchange, site.assets)
        : Promise.resolve(app.fetch(exchange.request, { exchange })),
    refuse: (error, exchange) => refusePage(site, null, error, exchange),
    renderMissing: () => renderError(site, null, nothingHere()),
  };
}

async function findViewer(exchange: Exchange, { authenticate, accountsOf }: Accounts): Promise<Viewer | null> {
  if (exchange.header("cookie") === null) return null;
  const principal = await authenticate(exchange);
  // Tokens are for the API only.
  if (principal?.via !== "session") return null;
  return { ...principal, accounts: await accountsOf(principal) };
}

/** Serves `/hq/<version>/<name>`, or `/hq/<name>` for files that load each other by name. */
function serveAsset({ path, method, request }: Exchange, assets: PageAssets): Response {
  const [version, ...names] = path.slice(ASSETS_PATH.length).replace(/\?.*$/s, "").split("/");
  if (method !== "GET" && method !== "HEAD") {
    throw new HttpError(405, "method_not_allowed", "This is a file to be read.");
  }
  const { headers } = request;
  const response = version === assets.version
    ? assets.answer(names.join("/"), headers.get("accept-encoding"))
    : assets.answerLatest(names.length === 0 ? version : names.join("/"), headers);
  if (response === null) throw nothingHere();
  return response;
}

/** Renders an error. A missing sign-in redirects to the sign-in page instead. */
function refusePage(site: HqSite, viewer: Viewer | null, error: HttpError, exchange: Exchange): Response {
  if (error.code === "unauthorized") {
    const next = exchange.method === "GET" ? `?next=${encodeURIComponent(exchange.path)}` : "";
    return goTo(`/sign-in${next}`);
  }
  return renderError(site, viewer, error);
}
