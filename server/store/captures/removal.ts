import { type Expression, type ExpressionBuilder, type Kysely, sql, type SqlBool, type Transaction } from "kysely";
import { yieldToEventLoop } from "../../../common/event_loop.ts";
import { COLUMNS } from "./reads.ts";
import { type Captures, MAX_RESTORABLE } from "./types.ts";
import type { Database } from "../schema/mod.ts";

type Removal = Pick<Captures, "removeThese" | "setAside" | "restore" | "removeAll" | "removeUpload" | "sweep">;

/** Captures per commit. Longer commits delay all other writers. */
const STEP = 100;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The parts of a capture that its removal needs. Sizes are bytes. */
interface Going {
  cursor: number;
  size: number;
  body_id: string | null;
}

/** Creates the removing half of {@link Captures}. */
export function createCaptureRemoval(db: Kysely<Database>): Removal {
  return {
    async removeThese(viewId, cursors) {
      if (cursors.length === 0) return 0;
      return await db.transaction().execute(async (transaction) => {
        await lockView(transaction, viewId);
        const rows = await transaction.selectFrom("captures").select(["cursor", "size", "body_id"])
          .where("view_id", "=", viewId).where("cursor", "in", cursors).orderBy("cursor").execute();
        if (rows.length > 0) await removeRows(transaction, viewId, rows);
        return rows.length;
      });
    },
    setAside: (viewId, cursor, now) =>
      db.transaction().execute((transaction) => setAside(transaction, viewId, cursor, now)),
    restore: (viewId, cursor) => db.transaction().execute((transaction) => restore(transaction, viewId, cursor)),
    async removeAll(viewId) {
      await purge(db, (row) => row("view_id", "=", viewId));
      const view = await db.selectFrom("views").select("last_cursor").where("id", "=", viewId).executeTakeFirst();
      return view === undefined ? 0 : await removeOldest(db, viewId, { upTo: Number(view.last_cursor) });
    },
    removeUpload: (bodyId) => removeUpload(db, bodyId),
    async sweep(now, uploadsBefore, removedBefore) {
      await removeOutlived(db, now);
      await purge(db, (row) => row("removed_at", "<", removedBefore));
      for (const { id } of await db.selectFrom("removed_views").select("id").execute()) {
        await removeOldest(db, id, {});
        await purge(db, (row) => row("view_id", "=", id));
        await db.deleteFrom("removed_views").where("id", "=", id).execute();
      }
      const uploads = await db.selectFrom("uploads").select("body_id").where("begun_at", "<", uploadsBefore).execute();
      for (const { body_id } of uploads) await removeUpload(db, body_id);
    },
  };
}

/**
 * Locks a view against other transactions that add or remove captures. Two that remove the same captures would
 * otherwise both subtract them from the view's counts. SQLite runs one transaction at a time anyway.
 */
async function lockView(transaction: Transaction<Database>, viewId: string): Promise<void> {
  await transaction.updateTable("views").set((row) => ({ captures: row.ref("captures") })).where("id", "=", viewId)
    .execute();
}

/**
 * Removes a view's captures with their chunks, and updates the counts.
 * @param rows at least one, sorted by cursor
 * @param keepsBodies whether chunks of long bodies stay
 */
export async function removeRows(
  transaction: Transaction<Database>,
  viewId: string,
  rows: readonly Going[],
  keepsBodies = false,
): Promise<void> {
  const bodies = keepsBodies ? [] : rows.flatMap(({ body_id }) => body_id ?? []);
  const cursors = rows.map(({ cursor }) => Number(cursor));
  const [first, last] = [cursors[0], cursors[cursors.length - 1]];
  await transaction.deleteFrom("captures").where("view_id", "=", viewId)
    // The oldest cursors are nearly always consecutive, and then one prepared statement serves any number of them.
    .where((row) =>
      last - first === cursors.length - 1 ? row.between("cursor", first, last) : row("cursor", "in", cursors)
    ).execute();
  if (bodies.length > 0) await transaction.deleteFrom("body_pieces").where("body_id", "in", bodies).execute();
  const bytes = rows.reduce((sum, { size }) => sum + Number(size), 0);
  await transaction.updateTable("views").set((row) => ({
    captures: row("captures", "-", rows.length),
    bytes: row("bytes", "-", bytes),
    oldest_at: OLDEST(viewId),
  })).where("id", "=", viewId).execute();
}

const OLDEST = (viewId: string) =>
  sql<number | null>`(select received_at from captures where view_id = ${viewId} order by cursor limit 1)`;

const NAMES = sql.join(COLUMNS.map((name) => sql.ref(name)));

async function setAside(db: Transaction<Database>, viewId: string, cursor: number, now: number): Promise<boolean> {
  await lockView(db, viewId);
  const row = await db.selectFrom("captures").select(["cursor", "size", "body_id"])
    .where("view_id", "=", viewId).where("cursor", "=", cursor).executeTakeFirst();
  if (row === undefined) return false;
  await sql`insert into removed_captures (${NAMES}, removed_at)
    select ${NAMES}, cast(${now} as bigint) from captures where view_id = ${viewId} and cursor = ${cursor}`.execute(db);
  await removeRows(db, viewId, [row], true);
  const aside = await db.selectFrom("removed_captures").select("cursor").where("view_id", "=", viewId)
    .orderBy("removed_at", "desc").orderBy("cursor", "desc").limit(STEP).execute();
  const cursors = aside.slice(MAX_RESTORABLE).map((one) => Number(one.cursor));
  if (cursors.length > 0) {
    await purge(db, (one) => one.and([one("view_id", "=", viewId), one("cursor", "in", cursors)]));
  }
  return true;
}

async function restore(db: Transaction<Database>, viewId: string, cursor: number): Promise<boolean> {
  await lockView(db, viewId);
  const row = await db.selectFrom("removed_captures").innerJoin("views", "views.id", "removed_captures.view_id")
    .select("size").where("view_id", "=", viewId).where("cursor", "=", cursor).executeTakeFirst();
  if (row === undefined) return false;
  await sql`insert into captures (${NAMES}) select ${NAMES} from removed_captures
    where view_id = ${viewId} and cursor = ${cursor}`.execute(db);
  await db.deleteFrom("removed_captures").where("view_id", "=", viewId).where("cursor", "=", cursor).execute();
  await db.updateTable("views").set((view) => ({
    captures: view("captures", "+", 1),
    bytes: view("bytes", "+", Number(row.size)),
    oldest_at: OLDEST(viewId),
  })).where("id", "=", viewId).execute();
  return true;
}

/** Removes restorable captures for good. */
async function purge(
  db: Kysely<Database>,
  which: (row: ExpressionBuilder<Database, "removed_captures">) => Expression<SqlBool>,
): Promise<void> {
  const rows = await db.selectFrom("removed_captures").select(["view_id", "cursor", "body_id"]).where(which).execute();
  for (const { view_id, cursor, body_id } of rows) {
    const { numDeletedRows } = await db.deleteFrom("removed_captures").where("view_id", "=", view_id)
      .where("cursor", "=", cursor).executeTakeFirst();
    // A capture that was restored meanwhile keeps its body.
    if (numDeletedRows === 0n || body_id === null) continue;
    await db.deleteFrom("body_pieces").where("body_id", "=", body_id).execute();
  }
}

/** A selection of captures: all when both members are missing. */
interface Which {
  /** The last cursor to include. */
  upTo?: number;
  /** Received before this time in Unix milliseconds. */
  before?: number;
}

async function removeOldest(db: Kysely<Database>, viewId: string, { upTo, before }: Which): Promise<number> {
  for (let removed = 0;;) {
    const count = await db.transaction().execute(async (transaction) => {
      await lockView(transaction, viewId);
      const rows = await transaction.selectFrom("captures").select(["cursor", "size", "body_id"])
        .where("view_id", "=", viewId)
        .$if(upTo !== undefined, (query) => query.where("cursor", "<=", upTo ?? 0))
        .$if(before !== undefined, (query) => query.where("received_at", "<", before ?? 0))
        .orderBy("cursor").limit(STEP).execute();
      if (rows.length > 0) await removeRows(transaction, viewId, rows);
      return rows.length;
    });
    removed += count;
    if (count < STEP) return removed;
    await yieldToEventLoop();
  }
}

async function removeOutlived(db: Kysely<Database>, now: number): Promise<void> {
  const views = await db.selectFrom("views").select(["id", "retention_days"])
    .where("oldest_at", "is not", null)
    .where((row) => row(row("oldest_at", "+", row("retention_days", "*", DAY_MS)), "<", now)).execute();
  for (const { id, retention_days } of views) {
    await removeOldest(db, id, { before: now - Number(retention_days) * DAY_MS });
  }
}

/** Removes a body unless a capture owns it: a sender that gave up may not know that its call was stored. */
async function removeUpload(db: Kysely<Database>, bodyId: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numDeletedRows } = await transaction.deleteFrom("uploads").where("body_id", "=", bodyId).executeTakeFirst();
    if (numDeletedRows === 0n) return;
    await transaction.deleteFrom("body_pieces").where("body_id", "=", bodyId).execute();
  });
}
