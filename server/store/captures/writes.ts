import { type CompiledQuery, type Kysely, sql, type Transaction } from "kysely";
import { COLUMNS } from "./reads.ts";
import { removeRows } from "./removal.ts";
import type { BodyChunk, Captures, NewCapture } from "./types.ts";
import type { Database } from "../schema/mod.ts";

type CaptureRow = Database["captures"];

/** Rows per statement. Few fixed sizes keep the number of prepared statements small. */
const ROWS = [64, 16, 4, 1] as const;
/** Rows per step when making room. */
const TRIM_STEP = 200;

/** Creates {@link Captures.keep} for either database. */
export function createCaptureWrites(db: Kysely<Database>): Pick<Captures, "keep"> {
  const inserts = new Map(ROWS.map((count) => [count, compileInsert(db, count)]));
  return {
    async keep({ captures, chunks }, maxBytes) {
      return await db.transaction().execute(async (transaction) => {
        await insertChunks(transaction, chunks);
        if (captures.length === 0) return [];
        const shares = await takeCursors(transaction, captures);
        const cursors = captures.map(({ viewId }) => {
          const share = shares.get(viewId);
          return share === undefined ? null : share.next++;
        });
        const rows = captures.flatMap((capture, index) => {
          const cursor = cursors[index];
          return cursor === null ? [] : [toRow(capture, cursor)];
        });
        await insertRows(transaction, rows, inserts);
        await endUploads(transaction, rows);
        for (const [viewId, { excess, bytes }] of shares) {
          await trim(transaction, viewId, excess, bytes - maxBytes);
        }
        return cursors;
      });
    },
  };
}

interface Share {
  /** The cursor for the next capture. */
  next: number;
  /** Captures beyond the view's limit. */
  excess: number;
  /** The view's size in bytes. */
  bytes: number;
}

/**
 * Counts the captures in their views, and assigns the following cursors. Another server that writes to the same view
 * waits for this commit, so cursors become visible in order.
 */
async function takeCursors(
  transaction: Transaction<Database>,
  captures: readonly NewCapture[],
): Promise<Map<string, Share>> {
  const shares = new Map<string, Share>();
  // Sorted by id, so that two servers never wait for each other in a circle.
  for (
    const [viewId, { count, bytes, firstAt, lastAt }] of [...countByView(captures)].sort(([a], [b]) => a < b ? -1 : 1)
  ) {
    const view = await transaction.updateTable("views").set((row) => ({
      last_cursor: row("last_cursor", "+", count),
      captures: row("captures", "+", count),
      bytes: row("bytes", "+", bytes),
      oldest_at: row.fn.coalesce("oldest_at", sql<number>`cast(${firstAt} as bigint)`),
      last_capture_at: lastAt,
    })).where("id", "=", viewId).returning(["last_cursor", "captures", "bytes", "max_captures"]).executeTakeFirst();
    if (view === undefined) continue;
    shares.set(viewId, {
      next: Number(view.last_cursor) - count + 1,
      excess: Number(view.captures) - Number(view.max_captures),
      bytes: Number(view.bytes),
    });
  }
  return shares;
}

function countByView(captures: readonly NewCapture[]) {
  const views = new Map<string, { count: number; bytes: number; firstAt: number; lastAt: number }>();
  for (const capture of captures) {
    const { receivedAt } = capture;
    const view = views.get(capture.viewId) ?? { count: 0, bytes: 0, firstAt: receivedAt, lastAt: receivedAt };
    view.count++;
    view.bytes += sizeOf(capture);
    view.lastAt = receivedAt;
    views.set(capture.viewId, view);
  }
  return views;
}

/** The approximate cost of a row beside its texts and body. */
const ROW_BYTES = 100;

/** Returns a capture's size. Even an empty call has a cost. */
function sizeOf({ path: target, headers, trailers, bodySize }: NewCapture): number {
  return [...headers, ...trailers].reduce((bytes, text) => bytes + text.length, ROW_BYTES + target.length + bodySize);
}

function toRow(capture: NewCapture, cursor: number): CaptureRow {
  return {
    view_id: capture.viewId,
    cursor,
    received_at: capture.receivedAt,
    method: capture.method,
    target: capture.path,
    host: capture.host,
    http_version: capture.httpVersion,
    headers: JSON.stringify(capture.headers),
    address: capture.address,
    content_type: capture.contentType,
    body_size: capture.bodySize,
    body_id: capture.bodyId,
    size: sizeOf(capture),
    body: capture.body,
    trailers: capture.trailers.length === 0 ? null : JSON.stringify(capture.trailers),
  };
}

type Inserts = ReadonlyMap<number, CompiledQuery>;

/** Compiles the statement that inserts `count` rows. Compiling it for each commit would take longer than running it. */
function compileInsert(db: Kysely<Database>, count: number): CompiledQuery {
  const row = sql.join(COLUMNS.map(() => sql`${0}`));
  const rows = sql.join(Array.from({ length: count }, () => sql`(${row})`));
  const columns = sql.join(COLUMNS.map((name) => sql.ref(name)));
  return sql`insert into captures (${columns}) values ${rows}`.compile(db);
}

async function insertRows(
  transaction: Transaction<Database>,
  rows: readonly CaptureRow[],
  inserts: Inserts,
): Promise<void> {
  for (let at = 0; at < rows.length;) {
    const count = ROWS.find((size) => size <= rows.length - at) ?? 1;
    const statement = inserts.get(count);
    if (statement === undefined) throw new Error(`no statement for ${count} rows`);
    const parameters = rows.slice(at, at + count).flatMap((row) => COLUMNS.map((name) => row[name]));
    await transaction.executeQuery({ ...statement, parameters });
    at += count;
  }
}

async function insertChunks(transaction: Transaction<Database>, chunks: readonly BodyChunk[]): Promise<void> {
  for (const { bodyId, number, bytes, begunAt } of chunks) {
    await transaction.insertInto("body_pieces").values({ body_id: bodyId, number, bytes }).execute();
    if (number > 0) continue;
    await transaction.insertInto("uploads").values({ body_id: bodyId, begun_at: begunAt }).execute();
  }
}

/** The captures own their chunks from now on. */
async function endUploads(transaction: Transaction<Database>, rows: readonly CaptureRow[]): Promise<void> {
  for (const { body_id } of rows) {
    if (body_id !== null) await transaction.deleteFrom("uploads").where("body_id", "=", body_id).execute();
  }
}

/** Removes a view's oldest captures until it is within its limits. The newest capture always stays. */
async function trim(
  transaction: Transaction<Database>,
  viewId: string,
  excess: number,
  excessBytes: number,
): Promise<void> {
  while (excess > 0 || excessBytes > 0) {
    const step = excessBytes > 0 ? TRIM_STEP : Math.min(excess, TRIM_STEP);
    // One additional row, because the last row may be the newest capture.
    const oldest = await transaction.selectFrom("captures").select(["cursor", "size", "body_id"])
      .where("view_id", "=", viewId).orderBy("cursor").limit(step + 1).execute();
    const going: typeof oldest = [];
    for (const row of oldest.slice(0, -1)) {
      if (excess <= 0 && excessBytes <= 0) break;
      going.push(row);
      excess--;
      excessBytes -= Number(row.size);
    }
    if (going.length === 0) return;
    await removeRows(transaction, viewId, going);
  }
}
