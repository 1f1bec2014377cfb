import type { Kysely, Selectable } from "kysely";
import type { Capture, CaptureFilter, Captures, OpenedCapture } from "./types.ts";
import type { Database } from "../schema/mod.ts";

type Reads = Pick<Captures, "list" | "listOpened" | "listAfter" | "lastBefore" | "find" | "readChunk">;

/** The columns of a capture without its body. */
const HEAD_COLUMNS = [
  "view_id",
  "cursor",
  "received_at",
  "method",
  "target",
  "host",
  "http_version",
  "headers",
  "address",
  "content_type",
  "body_size",
  "body_id",
] as const;

/** All columns, in the order in which statements list their values. */
export const COLUMNS = [...HEAD_COLUMNS, "size", "body", "trailers"] as const;

/** Creates the reading half of {@link Captures}. */
export function createCaptureReads(db: Kysely<Database>): Reads {
  const newest = (viewId: string, filter: CaptureFilter, limit: number) => {
    const { after, before, method, from, to } = filter;
    return db.selectFrom("captures").select(HEAD_COLUMNS).where("view_id", "=", viewId)
      .$if(after !== undefined, (query) => query.where("cursor", ">", after ?? 0))
      .$if(before !== undefined, (query) => query.where("cursor", "<", before ?? 0))
      .$if(method !== undefined, (query) => query.where("method", "=", method ?? ""))
      .$if(from !== undefined, (query) => query.where("received_at", ">=", from ?? 0))
      .$if(to !== undefined, (query) => query.where("received_at", "<", to ?? 0))
      .orderBy("cursor", "desc").limit(limit);
  };
  return {
    list: async (viewId, filter, limit) => (await newest(viewId, filter, limit).execute()).map(fromRow),
    listOpened: async (viewId, filter, limit) =>
      (await newest(viewId, filter, limit).select(["body", "trailers"]).execute()).map(openRow),
    async listAfter(viewId, cursor, limit) {
      const rows = await db.selectFrom("captures").select([...HEAD_COLUMNS, "body", "trailers"]).where(
        "view_id",
        "=",
        viewId,
      )
        .where("cursor", ">", cursor).orderBy("cursor").limit(limit).execute();
      return rows.map(openRow);
    },
    async lastBefore(viewId, time) {
      const row = await db.selectFrom("captures").select("cursor").where("view_id", "=", viewId)
        .where("received_at", "<", time).orderBy("cursor", "desc").limit(1).executeTakeFirst();
      return Number(row?.cursor ?? 0);
    },
    async find(viewId, cursor) {
      const row = await db.selectFrom("captures").select([...HEAD_COLUMNS, "body", "trailers"]).where(
        "view_id",
        "=",
        viewId,
      )
        .where("cursor", "=", cursor).executeTakeFirst();
      return row === undefined ? null : openRow(row);
    },
    async readChunk(bodyId, number) {
      const row = await db.selectFrom("body_pieces").select("bytes").where("body_id", "=", bodyId)
        .where("number", "=", number).executeTakeFirst();
      return row?.bytes ?? null;
    },
  };
}

type Row = Selectable<Database["captures"]>;

function fromRow(row: Omit<Row, "body" | "size" | "trailers">): Capture {
  return {
    viewId: row.view_id,
    cursor: Number(row.cursor),
    receivedAt: Number(row.received_at),
    method: row.method,
    path: row.target,
    host: row.host,
    httpVersion: row.http_version,
    headers: JSON.parse(row.headers) as string[],
    address: row.address,
    contentType: row.content_type,
    bodySize: Number(row.body_size),
    bodyId: row.body_id,
  };
}

function openRow(row: Omit<Row, "size">): OpenedCapture {
  return {
    ...fromRow(row),
    body: row.body,
    trailers: row.trailers === null ? [] : JSON.parse(row.trailers) as string[],
  };
}
