import type { Exchange } from "../../net/listener/mod.ts";
import { listen } from "../../net/listener/mod.ts";
import { createOriginReader } from "../../net/forwarded.ts";
import { type LogFields, type Logger, silentLogger } from "../../common/log.ts";
import { createApiHandler } from "../api/api.ts";
import { createApp } from "../serving/app.ts";
import { type Plan, type Principal, requireLogin, type Role } from "../access/mod.ts";
import { type Handler, readJsonBody } from "../http/mod.ts";
import { beginFirstStart } from "../open/first_start.ts";
import type { Store } from "../store/mod.ts";
import { type Accounts, type AccountsOptions, createAccounts, type FirstAdmin } from "./mod.ts";

/** Accounts behind a real listener, with JSON forms instead of HQ's pages. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly accounts: Accounts;
  /** Returns a browser with its own cookies. */
  browse(): Browser;
}

/** The handler for a form, as HQ has one. The body is unchecked. */
type Form = (accounts: Accounts, exchange: Exchange, body: never) => unknown;

export const ADMIN = { email: "admin@example.com", password: "correct horse battery" };

/** Starts accounts on a store, by default with an admin. */
export async function startAccounts(
  store: Store,
  options: Partial<AccountsOptions> & { admin?: FirstAdmin | null } = {},
): Promise<TestServer> {
  const ready = Promise.withResolvers<ReturnType<typeof createApp>>();
  const listener = await listen("edge", { hostname: "127.0.0.1", port: 0, log: silentLogger }, async (exchange) => {
    return (await ready.promise)(exchange);
  });
  const url = `http://localhost:${listener.port}`;
  const { log = silentLogger, admin = ADMIN, ...others } = options;
  const firstAdmin = await beginFirstStart(
    { adminEmail: admin?.email ?? null, adminPassword: admin?.password ?? null },
    store,
    url,
    log,
  );
  const accounts = createAccounts({
    store,
    log,
    readOrigin: createOriginReader(["127.0.0.1"]),
    origin: url,
    signUp: "open",
    defaultPlan: "free",
    mail: null,
    ...others,
  });
  if (firstAdmin !== null) await accounts.addFirstAdmin(firstAdmin);
  const api = createApiHandler({
    areas: [accounts.api],
    about: { baseUrl: url, files: false, openPaths: false },
    describeProxy: () => Promise.reject(new Error("there is no proxy")),
  });
  const app = createApp(
    [...accounts.handlers, createFormHandler(accounts), api],
    silentLogger,
  );
  ready.resolve(app);
  return {
    url,
    accounts,
    browse: () => new Browser(url),
    async [Symbol.asyncDispose]() {
      accounts.close();
      listener.abort();
      await listener.close();
    },
  };
}

async function signedIn({ authenticate }: Accounts, exchange: Exchange): Promise<Principal> {
  return requireLogin(await authenticate(exchange));
}

/** The forms by name. */
const FORMS = {
  "create-account": ({ members }, exchange, body) => members.createAccount(exchange, body),
  "rename": ({ members }, exchange, body) => members.rename(exchange, body),
  "switch": ({ members }, exchange, { id }: { id: string }) => members.switchAccount(exchange, id),
  "members": async (accounts, exchange) => await accounts.members.list(await signedIn(accounts, exchange)),
  "invitations": async (accounts, exchange) => await accounts.members.invitations(await signedIn(accounts, exchange)),
  "invite": ({ members }, exchange, body) => members.invite(exchange, body),
  "cancel-invitation": ({ members }, exchange, { id }: { id: string }) => members.cancelInvitation(exchange, id),
  "find-invitation": ({ members }, _, { id }: { id: string }) => members.findInvitation(id),
  "accept-invitation": ({ members }, exchange, { id }: { id: string }) => members.acceptInvitation(exchange, id),
  "set-role": ({ members }, exchange, { id, role }: { id: string; role: Role }) => members.setRole(exchange, id, role),
  "remove-member": ({ members }, exchange, { id }: { id: string }) => members.remove(exchange, id),
  "clients": async (accounts, exchange) => await accounts.clients.list(await signedIn(accounts, exchange)),
  "revoke-client": async (accounts, exchange, { id }: { id: string }) =>
    await accounts.clients.revoke(await signedIn(accounts, exchange), id),
  "tokens": async (accounts, exchange) => await accounts.clients.tokens(await signedIn(accounts, exchange)),
  "create-token": async (accounts, exchange, body) =>
    await accounts.clients.createToken(await signedIn(accounts, exchange), body),
  "revoke-token": async (accounts, exchange, { id }: { id: string }) =>
    await accounts.clients.revokeToken(await signedIn(accounts, exchange), id),
  "audit": async (accounts, exchange) => await accounts.clients.audit(await signedIn(accounts, exchange)),
  "users": async (accounts, exchange, body) => await accounts.admin.users(await signedIn(accounts, exchange), body),
  "set-plan": async (accounts, exchange, { id, plan }: { id: string; plan: Plan }) =>
    await accounts.admin.setPlan(await signedIn(accounts, exchange), id, plan),
  "suspend": async (accounts, exchange, { id, on }: { id: string; on: boolean }) =>
    await accounts.admin.setSuspended(await signedIn(accounts, exchange), id, on),
  "set-admin": async (accounts, exchange, { id, on }: { id: string; on: boolean }) =>
    await accounts.admin.setAdmin(await signedIn(accounts, exchange), id, on),
  "reset-link": async (accounts, exchange, { id }: { id: string }) => ({
    link: await accounts.admin.createResetLink(await signedIn(accounts, exchange), id),
  }),
  "admin-audit": async (accounts, exchange) => await accounts.admin.audit(await signedIn(accounts, exchange)),
  "forgot": ({ entry }, exchange, body) => entry.forgot(exchange, body),
  "sign-in": ({ entry }, exchange, body) => entry.signIn(exchange, body),
  "sign-up": ({ entry }, exchange, body) => entry.signUp(exchange, body),
  "sign-out": ({ entry }, exchange) => entry.signOut(exchange),
  "set-up": ({ entry }, exchange, body) => entry.setUp(exchange, body),
  "change-password": ({ entry }, exchange, body) => entry.changePassword(exchange, body),
  "reset": ({ entry }, exchange, body) => entry.reset(exchange, body),
  "authorize": ({ consent }, exchange, body) => consent.decide(exchange, body),
  "describe-device": ({ consent }, exchange, { code }: { code: string }) => consent.describeDevice(exchange, code),
  "device": ({ consent }, exchange, body) => consent.decideDevice(exchange, body),
} satisfies Readonly<Record<string, Form>>;

export type FormName = keyof typeof FORMS;

const isForm = (name: string): name is FormName => Object.hasOwn(FORMS, name);

function createFormHandler(accounts: Accounts): Handler {
  return {
    handle(exchange) {
      const name = /^\/forms\/([\w-]+)$/.exec(exchange.path)?.[1];
      if (name === undefined || !isForm(name)) return undefined;
      const form: Form = FORMS[name];
      return readJsonBody(exchange).then(async (body) => {
        accounts.checkOrigin(exchange);
        const result = await form(accounts, exchange, body as never) ?? {};
        const response = Response.json(result);
        const cookies: unknown = Reflect.get(Object(result), "cookies");
        for (const cookie of Array.isArray(cookies) ? cookies : []) response.headers.append("set-cookie", cookie);
        return response;
      });
    },
  };
}

/** The response parts that tests check. */
export interface FormResponse<Body> {
  readonly status: number;
  /** The result of a successful form; other responses have only `error`. */
  readonly body: Body & Refusal;
  readonly headers: Headers;
}

interface Refusal {
  readonly error: { readonly code: string; readonly field?: string };
}

/** The type that a form returns; `never` for a form without a result. */
type FormResult<Name extends FormName> = Exclude<Awaited<ReturnType<(typeof FORMS)[Name]>>, void | null>;

/** The response of `/api/v1/whoami`. */
interface Whoami extends Pick<Principal, "user" | "account"> {
  readonly accounts: readonly Principal["account"][];
  readonly scopes: readonly string[];
}

/** Keeps cookies between requests. */
export class Browser {
  readonly #url: string;
  readonly cookies = new Map<string, string>();
  /** The Set-Cookie fields of the last response. */
  setCookies: string[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  /** Posts a form of {@link startAccounts}. */
  async post<Name extends FormName>(
    form: Name,
    body: unknown = {},
    headers: Record<string, string> = {},
  ): Promise<FormResponse<FormResult<Name>>> {
    return await this.request<FormResult<Name>>(`/forms/${form}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "origin": this.#url, ...headers },
    });
  }

  /** Requests a path without following redirects. */
  async request<Body = Whoami>(
    path: string,
    init: RequestInit & { headers?: Record<string, string> } = {},
  ): Promise<FormResponse<Body>> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(cookie === "" ? {} : { cookie }), ...init.headers };
    const response = await fetch(new URL(path, this.#url), { ...init, headers, redirect: "manual" });
    this.setCookies = response.headers.getSetCookie();
    for (const text of this.setCookies) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      if (/max-age=0/i.test(text)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const text = await response.text();
    const isJson = text !== "" && response.headers.get("content-type")?.includes("json");
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  }
}

/** Returns a logger that records its calls. */
export function recordingLogger(): { log: Logger; lines: { event: string; fields: LogFields }[] } {
  const lines: { event: string; fields: LogFields }[] = [];
  const add = (event: string, fields: LogFields = {}) => void lines.push({ event, fields });
  return { lines, log: { ...silentLogger, debug: add, info: add, warn: add, error: add } };
}
