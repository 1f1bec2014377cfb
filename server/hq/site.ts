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

/** What answers requests to HQ, its pages in memory. */
export interface OpenedSite {
  /** A page, a form or a file of HQ's. */
  readonly answer: (exchange: Exchange) => Answer | Promise<Answer>;
  readonly refuse: (error: HttpError, exchange: Exchange) => Response;
  /** The page for addresses that nobody has. */
  readonly answerMissing: () => Response | Promise<Response>;
}

/** Makes HQ's routes, and reads the files that its pages need. */
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
  return {
    answer: (exchange) =>
      exchange.path.startsWith(ASSETS_PATH)
        ? answerAsset(exchange, site.assets)
        : Promise.resolve(app.fetch(exchange.request, { exchange })),
    refuse: (error, exchange) => refusePage(site, null, error, exchange),
    answerMissing: () => renderError(site, null, nothingHere()),
  };
}

async function findViewer(exchange: Exchange, { authenticate, accountsOf }: Accounts): Promise<Viewer | null> {
  if (exchange.header("cookie") === null) return null;
  const principal = await authenticate(exchange);
  // Tokens are for the API.
  if (principal?.via !== "session") return null;
  return { ...principal, accounts: await accountsOf(principal) };
}

/** `/hq/<version>/<name>`, or without the version for what has to find a file by its name alone. */
function answerAsset({ path, method, request }: Exchange, assets: PageAssets): Response {
  const [version, ...names] = path.slice(ASSETS_PATH.length).replace(/\?.*$/s, "").split("/");
  if (method !== "GET" && method !== "HEAD") {
    throw new HttpError(405, "method_not_allowed", "This is a file to be read.");
  }
  const { headers } = request;
  const answer = version === assets.version
    ? assets.answer(names.join("/"), headers.get("accept-encoding"))
    : assets.answerLatest(names.length === 0 ? version : names.join("/"), headers);
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
