import type { Context, Hono } from "hono";
import type { ExchangeEnv } from "../../net/listener/mod.ts";
import type { Logger } from "../../common/log.ts";
import type { ApiObject } from "../../common/open_api.ts";
import type { PageAssets } from "../../web/page_assets.ts";
import type { Principal, Role } from "../access/mod.ts";
import type { Accounts } from "../accounts/mod.ts";
import type { ViewService } from "../captures/mod.ts";
import type { TunnelManagement } from "../relay/mod.ts";

/** What the management site is made of. */
export interface HqOptions {
  /** HQ's own URL: it answers at that host alone. */
  url: URL;
  /** Below whose host ephemeral tunnels appear. */
  ephemeralUrl: URL;
  accounts: Accounts;
  tunnels: TunnelManagement;
  /** Request views, for members. */
  views: ViewService;
  /** The OpenAPI document of this server. */
  readApi(): Promise<ApiObject>;
  log: Logger;
}

/** Who looks at a page, and the accounts they may switch to. */
export interface Viewer extends Principal {
  readonly accounts: readonly AccountSummary[];
}

/** An account as its member sees it. */
export interface AccountSummary {
  readonly id: string;
  readonly name: string;
  readonly plan: "free" | "paid";
  readonly role: Role;
}

/** What all pages are made with. */
export interface HqSite {
  /** HQ's own URL. */
  readonly url: URL;
  /** Below whose host ephemeral tunnels appear. */
  readonly ephemeralUrl: URL;
  readonly assets: PageAssets;
  /** Whether strangers can make a user here. */
  readonly canSignUp: boolean;
}

/** What a Hono app of pages finds in its context. */
export interface HqEnv extends ExchangeEnv {
  Variables: { site: HqSite; viewer: Viewer | null };
}

/** A request to HQ, with what the middleware has found out about it. */
export type HqContext = Context<HqEnv>;
/** Routes of HQ; each section adds its own. */
export type HqApp = Hono<HqEnv>;
