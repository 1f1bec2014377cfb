import { createOriginReader } from "../../net/forwarded.ts";
import { HttpError } from "../../common/http_error.ts";
import { listen } from "../../net/listener/mod.ts";
import { silentLogger } from "../../common/log.ts";
import { type Principal, type Scope, SCOPES } from "../access/mod.ts";
import { createApiHandler } from "../api/api.ts";
import { createLocalArrivals } from "../cluster/mod.ts";
import { createApp } from "../serving/app.ts";
import { openStore, type Store } from "../store/mod.ts";
import { type CapturesOptions, createCaptures } from "./mod.ts";

/** An area with its own listener and store. */
export interface TestArea extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly store: Store;
  /** Calls the API as `who`, a name from {@link PEOPLE}. */
  ask(path: string, who?: string, init?: RequestInit): Promise<Response>;
  /** Creates a view. */
  addView(changes?: object): Promise<{ id: string; captureUrl: string }>;
}

/** Names with their scopes. The first letter is the account. */
const PEOPLE: Readonly<Record<string, readonly Scope[]>> = {
  ann: Object.keys(SCOPES) as Scope[],
  abe: ["views:read"],
  bob: Object.keys(SCOPES) as Scope[],
};

/** Starts the area behind its own listener. The request field `who` names the caller. */
export async function startArea(options: Partial<CapturesOptions> = {}): Promise<TestArea> {
  const store = await openStore({ dataDir: null });
  let port = 0;
  const url = () => `http://127.0.0.1:${port}`;
  const area = createCaptures({
    store,
    arrivals: createLocalArrivals(),
    authenticate: (exchange) => Promise.resolve(principalOf(exchange.header("who"))),
    onEnded() {},
    log: silentLogger,
    readOrigin: createOriginReader([]),
    apiUrl: "http://api.example",
    hqUrl: "http://hq.example",
    maxBodyBytes: 16 * 1024 * 1024,
    maxCaptures: 1000,
    maxViewBytes: 64 * 1024 * 1024,
    retentionDays: 30,
    maxViews: 10,
    perView: 100_000,
    perAddress: 100_000,
    maxHeldBytes: 8 * 1024 * 1024,
    send: () => Promise.reject(new HttpError(403, "address_forbidden", "Nothing is sent.")),
    note: () => Promise.resolve(),
    replaysPerMinute: 100,
    ...options,
  });
  const api = createApiHandler({
    areas: [area.api],
    about: { baseUrl: "http://api.example", files: false, openPaths: false },
    describeProxy: () => Promise.reject(new Error("there is no proxy")),
  });
  const app = createApp([...area.handlers, api], silentLogger);
  const listener = await listen("edge", { hostname: "127.0.0.1", port: 0, log: silentLogger }, app);
  port = listener.port;
  const ask = (path: string, who = "ann", init: RequestInit = {}) =>
    fetch(url() + path, { ...init, headers: { who, ...init.headers } });
  return {
    url: url(),
    port,
    store,
    ask,
    async addView(changes = {}) {
      const { id } = await (await ask("/api/v1/views", "ann", { method: "POST", body: "{}" })).json() as { id: string };
      const changed = await ask(`/api/v1/views/${id}`, "ann", { method: "PATCH", body: JSON.stringify(changes) });
      if (!changed.ok) throw new Error(await changed.text());
      await changed.body?.cancel();
      return { id, captureUrl: `${url()}/req/${id}` };
    },
    async [Symbol.asyncDispose]() {
      await area.drain?.(AbortSignal.timeout(0));
      await listener.close();
      await area.close();
      await store.close();
    },
  };
}

function principalOf(who: string | null): Principal | null {
  const scopes = who === null ? undefined : PEOPLE[who];
  if (who === null || scopes === undefined) return null;
  const account = { id: `account-${who[0]}`, name: who[0], plan: "free", role: "member" } as const;
  const user = { id: who, name: who, email: `${who}@example.com`, isAdmin: false };
  return { user, account, scopes: new Set(scopes), via: "token" };
}
