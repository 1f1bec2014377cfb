import type { Exchange } from "../../../net/listener/mod.ts";
import type { Store } from "../../store/mod.ts";
import { noSuch } from "../better_auth/call.ts";
import type { Identity } from "../identify.ts";
import type { Shared } from "./shared.ts";
import type { BrowserSession, BrowserSessions } from "../types.ts";

/** The dependencies of the session list. */
export interface SessionFormsOptions extends Pick<Shared, "identify" | "now" | "onEnded"> {
  store: Pick<Store, "identities">;
}

/** The browser sessions of a user. */
export class SessionForms implements BrowserSessions {
  readonly #options: SessionFormsOptions;

  constructor(options: SessionFormsOptions) {
    this.#options = options;
  }

  async list(exchange: Exchange): Promise<BrowserSession[]> {
    const { now, store } = this.#options;
    const { principal, token } = await this.#enter(exchange);
    const sessions = await store.identities.listSessions(principal.user.id);
    return sessions.filter(({ expiresAt }) => expiresAt > now()).map(({ token: own, ...session }) => ({
      ...session,
      isCurrent: own === token,
    }));
  }

  async end(exchange: Exchange, id: string): Promise<void> {
    const { onEnded, store } = this.#options;
    const { principal } = await this.#enter(exchange);
    if (!await store.identities.endSession(principal.user.id, id)) throw noSuch("session");
    onEnded({ login: id });
  }

  async #enter(exchange: Exchange): Promise<{ principal: Identity["principal"]; token: string }> {
    const identity = await this.#options.identify(exchange);
    if (identity?.credential.kind !== "session") throw noSuch("session");
    return { principal: identity.principal, token: identity.credential.token };
  }
}
