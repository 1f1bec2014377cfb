import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { Kysely, sql } from "kysely";
import { findFreePort } from "../../../tests/kit/free_port.ts";
import { PASSWORD, type Postgres, postgresMissing, startPostgres } from "../../../tests/kit.ts";
import { openStore, parsePostgresAddress, type Store, StoreUnavailable } from "../mod.ts";
import { PostgresConnection } from "./connection.ts";
import { createPostgresDialect } from "./driver.ts";
import { PostgresWatch } from "./failures.ts";
import { Pool } from "./pool.ts";
import { describeAddress } from "../postgres_address.ts";

const TUNNEL = { id: "id", label: "abc", secretHash: "h", createdAt: 1, expiresAt: 2, bytesUsed: 0, bytesLimit: 3 };

/** Defines a test with a PostgreSQL that it may stop. */
function test(name: string, run: (postgres: Postgres, url: string) => Promise<void>): void {
  Deno.test({
    name: `PostgreSQL: ${name}`,
    ignore: postgresMissing() !== null,
    async fn() {
      await using postgres = await startPostgres();
      await run(postgres, await postgres.createDatabase());
    },
  });
}

const open = (url: string, maxConnections = 2) =>
  openStore({ postgres: { address: parsePostgresAddress(url), maxConnections } });

async function whenFailing(store: Store, isWanted: (reason: string | null) => boolean): Promise<void> {
  while (!isWanted(store.failing())) await new Promise((resolve) => setTimeout(resolve, 20));
}

test(
  "a database that goes away fails what is asked, says so, and is used again once it is back",
  async (postgres, url) => {
    const store = await open(url);
    const running = rejects(sql`select pg_sleep(60)`.execute(store.db), StoreUnavailable);
    await store.ephemeralTunnels.insert(TUNNEL);
    await postgres.stop();
    await running;
    await rejects(store.ephemeralTunnels.findById("id"), StoreUnavailable);
    await rejects(store.ephemeralTunnels.addTraffic([{ id: "id", bytes: 1 }]), StoreUnavailable);
    match(store.failing() ?? "", /ECONNREFUSED/);
    await postgres.start();
    await whenFailing(store, (reason) => reason === null);
    await store.ephemeralTunnels.addTraffic([{ id: "id", bytes: 2 }]);
    equal((await store.ephemeralTunnels.findById("id"))?.bytesUsed, 2);
    await store.close();
  },
);

test("a transaction whose connection breaks keeps nothing, and does not go on over another", async (postgres, url) => {
  const store = await open(url);
  await rejects(
    store.db.transaction().execute(async (transaction) => {
      const add = (id: string) => ({ id, label: id, secret_hash: "h", created_at: 1, expires_at: 2, bytes_limit: 3 });
      await transaction.insertInto("ephemeral_tunnels").values(add("before")).execute();
      await postgres.stop();
      await postgres.start();
      await transaction.insertInto("ephemeral_tunnels").values(add("after")).execute();
    }),
    StoreUnavailable,
  );
  equal(await store.ephemeralTunnels.count(0), 0);
  await store.close();
});

test("a database that only reads is told, until something is kept again", async (_postgres, url) => {
  const [store, admin] = [await open(url, 1), await open(url, 1)];
  await sql`alter database test_1 set default_transaction_read_only = on`.execute(admin.db);
  await sql`set default_transaction_read_only = on`.execute(store.db);
  await rejects(store.ephemeralTunnels.insert(TUNNEL), StoreUnavailable);
  equal(await store.ephemeralTunnels.findById("id"), null);
  match(store.failing() ?? "", /read-only/);
  await sql`set default_transaction_read_only = off`.execute(store.db);
  await store.ephemeralTunnels.insert(TUNNEL);
  equal(store.failing(), null);
  await store.close();
  await admin.close();
});

test("connections are no more than allowed, however much is asked at once", async (_postgres, url) => {
  const [store, admin] = [await open(url, 3), await open(url, 1)];
  const asked = Array.from(
    { length: 200 },
    (_, turn) => sql<{ turn: number }>`select ${turn}::bigint as turn`.execute(store.db),
  );
  const answers = await Promise.all(asked);
  deepEqual(answers.map(({ rows }) => rows[0].turn), answers.map((_, turn) => turn));
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity where application_name = 'portway'`.execute(admin.db);
  deepEqual(rows, [{ count: 4 }]);
  await store.close();
  await admin.close();
});

test(
  "a query that gets no answer is given up, and what comes next has a connection of its own",
  async (_postgres, url) => {
    const watch = new PostgresWatch(() => {});
    const address = parsePostgresAddress(url);
    const pool = new Pool(1, () => new PostgresConnection({ address, watch, queryMs: () => 300 }));
    const db = new Kysely({ dialect: createPostgresDialect(pool) });
    const slow = rejects(sql`select pg_sleep(60)`.execute(db), {
      name: "StoreUnavailable",
      message: "the database did not answer within 0.3 seconds",
    });
    const next = sql<{ one: number }>`select 1 as one`.execute(db);
    await slow;
    equal((await next).rows[0].one, 1);
    equal(watch.failing, null);
    await db.destroy();
  },
);

test("what the database objects to is no failure of it", async (_postgres, url) => {
  const store = await open(url);
  await rejects(sql`select nonsense`.execute(store.db), /column "nonsense" does not exist/);
  equal(store.failing(), null);
  await store.close();
});

test("a database that cannot be used is told in a line without the password", async (postgres, url) => {
  const wrong = url.replace(encodeURIComponent(PASSWORD), "wrong%20word");
  await rejects(open(wrong), (error: Error) => {
    equal(
      error.message,
      `cannot open the database "test_1" of portway at 127.0.0.1:${postgres.port}: ` +
        `password authentication failed for user "portway"`,
    );
    return true;
  });
  await rejects(open(url.replace("test_1", "nobody")), /"nobody" of portway .*: database "nobody" does not exist$/);
});

Deno.test("PostgreSQL: a database that is not there is told in a line", async () => {
  const port = findFreePort();
  await rejects(
    open(`postgres://me:secret@127.0.0.1:${port}/data`),
    new RegExp(`^Error: cannot open the database "data" of me at 127.0.0.1:${port}: .*ECONNREFUSED`),
  );
});

Deno.test("addresses are read as libpq reads them", () => {
  const address = parsePostgresAddress("postgresql://me:p%3A%2Fw@[::1]:5433/data?sslmode=require");
  deepEqual([address.host, address.port, address.user, address.password, address.database, address.tls], [
    "::1",
    5433,
    "me",
    "p:/w",
    "data",
    "require",
  ]);
  equal(describeAddress(address), '"data" of me at [::1]:5433');
  const socket = parsePostgresAddress("postgres:///data?host=/run/postgresql&user=me");
  deepEqual([socket.socketFolder, socket.port, socket.tls], ["/run/postgresql", 5432, "disable"]);
  equal(describeAddress(socket), '"data" of me at /run/postgresql');
  equal(parsePostgresAddress("postgres://me@db.example").database, "me");
});

Deno.test("addresses that say what we do not know are refused without the password", () => {
  for (
    const [text, reason] of [
      ["http://me:secret@host/data", /expected a postgres:\/\/ URL/],
      ["secret", /expected a postgres:\/\/ URL/],
      ["postgres://me:secret@host/data?sslmode=secure", /sslmode must be/],
      ["postgres://me:secret@host/data?pool=3", /unknown parameter "pool"/],
      ["postgres:///data", /names no user/],
    ] as const
  ) {
    let message = "";
    try {
      parsePostgresAddress(text);
    } catch (error) {
      message = (error as Error).message;
    }
    match(message, reason);
    ok(!message.includes("secret"));
  }
});
