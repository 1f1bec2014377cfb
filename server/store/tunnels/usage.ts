import { type Kysely, sql, type Transaction } from "kysely";
import type { Database } from "../schema/mod.ts";

/** Traffic to add to a tunnel's day. */
export interface TunnelTraffic {
  readonly id: string;
  readonly bytes: number;
  readonly requests: number;
}

/** A user in an account. */
export interface AccountUser {
  readonly accountId: string;
  readonly userId: string;
}

/** Traffic to add to a user's month. */
export interface UserTraffic extends AccountUser {
  readonly bytes: number;
}

/** Traffic since the last report, on one day (UTC, such as 2026-11-22). */
export interface UsageReport {
  readonly day: string;
  readonly tunnels: readonly TunnelTraffic[];
  readonly users: readonly UserTraffic[];
}

/** A day's traffic. */
export interface UsageDay {
  readonly day: string;
  readonly bytes: number;
  readonly requests: number;
}

/** Usage of persistent tunnels: by day per tunnel, and by month per user and account. */
export interface UsageRecords {
  /**
   * Adds a report in one transaction.
   * @returns the monthly totals for its users, in their order, across all servers
   */
  add(report: UsageReport): Promise<number[]>;
  /** Lists a tunnel's days from `since` on, without days that had no traffic. */
  ofTunnel(id: string, since: string): Promise<UsageDay[]>;
  /** Returns the bytes in a month, such as 2026-11. */
  ofUser(user: AccountUser, month: string): Promise<number>;
  /** Lists the days of all tunnels together from `since` on. */
  ofAll(since: string): Promise<UsageDay[]>;
  /** Removes days before `day`. Returns the number of rows. */
  removeBefore(day: string): Promise<number>;
}

/** Rows per statement: databases limit the number of parameters. */
const ROWS_AT_ONCE = 500;

/** Creates usage records for either database. */
export function createUsage(db: Kysely<Database>): UsageRecords {
  return {
    add: (report) => db.transaction().execute((transaction) => add(transaction, report)),
    async ofTunnel(id, since) {
      const rows = db.selectFrom("tunnel_usage").select(["day", "bytes", "requests"])
        .where("tunnel_id", "=", id).where("day", ">=", since).orderBy("day");
      return (await rows.execute()).map(fromRow);
    },
    ofUser: (user, month) => readMonth(db, user, month),
    async ofAll(since) {
      const rows = db.selectFrom("tunnel_usage").groupBy("day").where("day", ">=", since).orderBy("day")
        .select((from) => ["day", from.fn.sum("bytes").as("bytes"), from.fn.sum("requests").as("requests")]);
      return (await rows.execute()).map(fromRow);
    },
    async removeBefore(day) {
      const { numDeletedRows } = await db.deleteFrom("tunnel_usage").where("day", "<", day).executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

async function add(db: Transaction<Database>, { day, tunnels, users }: UsageReport): Promise<number[]> {
  const month = day.slice(0, 7);
  // Sorted on every server, so that two of them never wait for each other's rows in a circle.
  const byTunnel = tunnels.map(({ id, bytes, requests }) => ({ tunnel_id: id, day, bytes, requests }))
    .sort((one, two) => compare(one.tunnel_id, two.tunnel_id));
  for (const values of inParts(byTunnel)) {
    await db.insertInto("tunnel_usage").values(values).onConflict((conflict) =>
      conflict.columns(["tunnel_id", "day"]).doUpdateSet({
        bytes: sql<number>`tunnel_usage.bytes + excluded.bytes`,
        requests: sql<number>`tunnel_usage.requests + excluded.requests`,
      })
    ).execute();
  }
  const byUser = users.map(({ accountId, userId, bytes }) => ({ account_id: accountId, user_id: userId, month, bytes }))
    .sort((one, two) => compare(one.account_id, two.account_id) || compare(one.user_id, two.user_id));
  const totals = new Map<string, number>();
  for (const values of inParts(byUser)) {
    const rows = await db.insertInto("user_usage").values(values).onConflict((conflict) =>
      conflict.columns(["account_id", "user_id", "month"])
        .doUpdateSet({ bytes: sql<number>`user_usage.bytes + excluded.bytes` })
    ).returning(["account_id", "user_id", "bytes"]).execute();
    for (const row of rows) totals.set(`${row.account_id} ${row.user_id}`, Number(row.bytes));
  }
  return users.map(({ accountId, userId }) => totals.get(`${accountId} ${userId}`) ?? 0);
}

async function readMonth(db: Kysely<Database>, user: AccountUser, month: string): Promise<number> {
  const row = await db.selectFrom("user_usage").select("bytes")
    .where("account_id", "=", user.accountId).where("user_id", "=", user.userId).where("month", "=", month)
    .executeTakeFirst();
  return Number(row?.bytes ?? 0);
}

function* inParts<T>(rows: readonly T[]): Generator<T[]> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) yield rows.slice(at, at + ROWS_AT_ONCE);
}

const compare = (one: string, two: string): number => one < two ? -1 : one > two ? 1 : 0;

function fromRow({ day, bytes, requests }: Record<keyof UsageDay, unknown>): UsageDay {
  return { day: String(day), bytes: Number(bytes), requests: Number(requests) };
}
