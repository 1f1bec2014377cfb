import { createOriginReader } from "../net/forwarded.ts";
import { silentLogger } from "../common/log.ts";
import { type Principal, type Scope, SCOPES } from "../server/access/mod.ts";
import { createAccounts } from "../server/accounts/mod.ts";
import { openStore, parsePostgresAddress, type Store } from "../server/store/mod.ts";
import { makeTempDir, type Program, type Server, type ServerOptions, startProgram, startServer } from "./kit/mod.ts";

/** A user of the server's who may do everything with views. */
export const USER = { email: "ann@example.com", password: "correct horse battery" };

export interface ViewsServer extends AsyncDisposable {
  readonly server: Server;
  /** A personal token of {@link USER}. */
  readonly token: string;
  /** Asks the API as the user. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  addView(name?: string): Promise<{ id: string; captureUrl: string; browserUrl: string }>;
  /** Starts the client as the user. */
  startClient(args: readonly string[], env?: Readonly<Record<string, string>>): Program;
}

export interface ViewsServerOptions extends ServerOptions {
  /** URL of a PostgreSQL database; SQLite in the data folder when left out. */
  databaseUrl?: string;
}

/** Starts the real server with a user and a token of theirs. */
export async function startViewsServer(options: ViewsServerOptions = {}): Promise<ViewsServer> {
  await using stack = new AsyncDisposableStack();
  const dataDir = options.dataDir ?? stack.use(await makeTempDir()).path;
  const { databaseUrl } = options;
  const env = { ...options.env, ...(databaseUrl === undefined ? {} : { PORTWAY_DATABASE_URL: databaseUrl }) };
  const token = await makeToken(databaseUrl, dataDir);
  const server = stack.use(await startServer({ ...options, dataDir, env }));
  const owned = stack.move();
  return { ...withUser(server, token), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** What the user can do at a server that runs. */
export function withUser(server: Server, token: string): Omit<ViewsServer, typeof Symbol.asyncDispose> {
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(server.url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
  return {
    server,
    token,
    ask,
    async addView(name) {
      const response = await ask("/api/v1/views", { method: "POST", body: JSON.stringify({ name }) });
      if (response.status !== 201) throw new Error(await response.text());
      return await response.json();
    },
    startClient: (args, env = {}) =>
      startProgram({
        entry: "cli.ts",
        args: ["--server", server.url, ...args],
        env: { PORTWAY_TOKEN: token, ...env },
      }),
  };
}

/** Makes the user and a token in the database that the server will have. */
export async function makeToken(
  databaseUrl: string | undefined,
  dataDir: string,
  scopes: readonly Scope[] = ["views:read", "views:write"],
): Promise<string> {
  const store =
    await (databaseUrl === undefined
      ? openStore({ dataDir })
      : openStore({ postgres: { address: parsePostgresAddress(databaseUrl), maxConnections: 2 } }));
  try {
    const { clients, addFirstAdmin } = createAccounts({
      store,
      log: silentLogger,
      readOrigin: createOriginReader([]),
      origin: "http://localhost",
      signUp: "closed",
      defaultPlan: "paid",
      mail: null,
    });
    await addFirstAdmin(USER);
    const { token } = await clients.createToken(await findPrincipal(store), {
      name: "test",
      scopes: [...scopes],
      days: null,
    });
    return token;
  } finally {
    await store.close();
  }
}

async function findPrincipal({ db }: Store): Promise<Principal> {
  const { id } = await db.selectFrom("user").select("id").executeTakeFirstOrThrow();
  const { organizationId } = await db.selectFrom("member").select("organizationId").executeTakeFirstOrThrow();
  return {
    user: { id, name: "Ann", email: USER.email, isAdmin: true },
    account: { id: organizationId, name: "Ann", plan: "paid", role: "owner" },
    scopes: new Set(Object.keys(SCOPES) as Scope[]),
    via: "session",
  };
}
