import { z } from "zod";
import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { requireLogin, type Scope, SCOPES } from "../../access/mod.ts";
import type { Store } from "../../store/mod.ts";
import { callerOf, loginExpired } from "../better_auth/call.ts";
import { CLI_CLIENT_ID, CLI_CLIENT_NAME } from "../better_auth/auth_options.ts";
import { readEntered, sessionWanted } from "./entry.ts";
import { fieldRefused } from "../../http/mod.ts";
import { type Identity, isScope } from "../identify.ts";
import type { Shared } from "./shared.ts";
import type { AuthorizationRequest, Consent, Entered } from "../types.ts";

/** The dependencies of the consent screens. */
export interface ConsentOptions
  extends Pick<Shared, "call" | "loadAuth" | "identify" | "readOrigin" | "attempts" | "audit"> {
  store: Pick<Store, "identities">;
  /** Moves the session to another account. @throws HttpError 404 for a user who is not a member */
  switchAccount(identity: Identity, accountId: string): Promise<void>;
}

/** A device fetches its tokens some seconds after its user allowed it. */
const DEVICE_ACCOUNT_SECONDS = 15 * 60;

/** The screens on which a user allows a client. */
export class ConsentForms implements Consent {
  readonly #options: ConsentOptions;

  constructor(options: ConsentOptions) {
    this.#options = options;
  }

  describe(query: string): AuthorizationRequest {
    const parameters = new URLSearchParams(query);
    const expires = Number(parameters.get("exp"));
    if (!parameters.has("sig") || !(expires * 1000 > Date.now())) throw loginExpired();
    if (parameters.get("client_id") !== CLI_CLIENT_ID) {
      throw fieldRefused("client_id", "This client is unknown.");
    }
    return describeRequest(parameters.get("scope") ?? "");
  }

  async decide(
    exchange: Exchange,
    { query, accept, accountId }: { query: string; accept: boolean; accountId?: string },
  ): Promise<Entered> {
    const { client } = this.describe(query);
    const { principal } = await this.#enter(exchange, accountId);
    const body = { accept, oauth_query: query };
    const entered = readEntered(await this.#options.call("/oauth2/consent", this.#callerOf(exchange), body));
    if (accept) await this.#options.audit.write(principal.user, "client_authorized", client, principal.account.id);
    return entered;
  }

  async describeDevice(exchange: Exchange, code: string): Promise<AuthorizationRequest> {
    const { attempts, call, identify } = this.#options;
    requireLogin((await identify(exchange))?.principal ?? null);
    const caller = this.#callerOf(exchange);
    attempts.take(caller.address, null);
    const userCode = readCode(code);
    const called = await call(`/device?user_code=${userCode}`, caller);
    const request = DEVICE_REQUEST.safeParse(called.body);
    if (called.status !== 200 || !request.success || request.data.status !== "pending") throw codeUnknown();
    return describeRequest(request.data.scope);
  }

  async decideDevice(
    exchange: Exchange,
    { code, accept, accountId }: { code: string; accept: boolean; accountId?: string },
  ): Promise<void> {
    const { audit, call, loadAuth } = this.#options;
    const { client } = await this.describeDevice(exchange, code);
    const { principal: { user, account } } = await this.#enter(exchange, accountId);
    const userCode = readCode(code);
    if (accept) await (await loadAuth()).remember(deviceAccountOf(userCode), account.id, DEVICE_ACCOUNT_SECONDS);
    const called = await call(accept ? "/device/approve" : "/device/deny", this.#callerOf(exchange), { userCode });
    if (called.status !== 200) throw codeUnknown();
    if (accept) await audit.write(user, "client_authorized", client, account.id);
  }

  /** Returns the caller's session, after it moved to the chosen account. */
  async #enter(exchange: Exchange, accountId: string | undefined): Promise<Identity> {
    const { identify, store, switchAccount } = this.#options;
    const identity = await identify(exchange);
    const { account } = requireLogin(identity?.principal ?? null);
    if (identity?.credential.kind !== "session") throw sessionWanted();
    if (accountId === undefined || accountId === account.id) {
      // The session may name no account, or one that its user left.
      await store.identities.moveSession(identity.credential.token, account.id);
      return identity;
    }
    await switchAccount(identity, accountId);
    const moved = await identify(exchange);
    if (moved === null) throw sessionWanted();
    return moved;
  }

  #callerOf(exchange: Exchange): ReturnType<typeof callerOf> {
    return callerOf(exchange, this.#options.readOrigin(exchange).address);
  }
}

const DEVICE_REQUEST = z.object({ status: z.string(), scope: z.string() });

function describeRequest(scope: string): AuthorizationRequest {
  const scopes = scope.split(" ").filter(isScope);
  return { client: CLI_CLIENT_NAME, scopes: scopes.map((one: Scope) => ({ scope: one, words: SCOPES[one] })) };
}

/** Returns the letters and digits of a code, which people type in groups. */
function readCode(code: string): string {
  const text = code.replace(/[^a-z0-9]/gi, "").toUpperCase();
  if (text.length > 0 && text.length <= 32) return text;
  throw codeUnknown();
}

const codeUnknown = (): HttpError =>
  new HttpError(404, "code_unknown", "This code is unknown, used already or too old.", {
    details: "The terminal shows the right one.",
  });

/** Returns the name under which the account for a device is stored until the device fetches its tokens. */
export const deviceAccountOf = (userCode: string): string => `device-account:${userCode}`;
