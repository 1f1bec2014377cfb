import type { Context, Hono } from "hono";
import type { ExchangeEnv } from "../../net/listener/mod.ts";
import type { Logger } from "../../common/log.ts";
import type { ApiObject } from "../../common/open_api.ts";
import type { PageAssets } from "../../web/page_assets.ts";
import type { Principal, Role } from "../access/mod.ts";
import type { Accounts } from "../accounts/mod.ts";
import type { ViewService } from "../captures/mod.ts";
import type { TunnelManagement } from "../relay/mod.ts";

/** The management site's options. */
export interface HqOptions {
  /** HQ's own URL. HQ responds at this host only. */
  url: URL;
  /** The URL whose subdomains are ephemeral tunnels. */
  ephemeralUrl: URL;
  accounts: Accounts;
  tunnels: TunnelManagement;
  /** Accounts' request views. */
  views: ViewService;
  /** Returns this server's OpenAPI document. */
  readApi(): Promise<ApiObject>;
  log: Logger;
}

/** A page's signed-in user, with the accounts that they may switch to. */
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

/** Values that all pages share. */
export interface HqSite {
  /** HQ's own URL. */
  readonly url: URL;
  /** The URL whose subdomains are ephemeral tunnels. */
  readonly ephemeralUrl: URL;
  readonly assets: PageAssets;
  /** Whether sign-up is open to all. */
  readonly canSignUp: boolean;
}

/** Context variables in HQ's Hono app. */
export interface HqEnv extends ExchangeEnv {
  Variables: { site: HqSite; viewer: Viewer | null };
}

/** A request to HQ with the context variables set. */
export type HqContext = Context<HqEnv>;
/** The Hono app to which each section adds its routes. */
export type HqApp = Hono<HqEnv>;
