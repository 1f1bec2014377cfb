import type { Generated } from "kysely";
import type { Dialect, Migration } from "./types.ts";

/** Request views and captures. Times are Unix milliseconds. */
export interface ViewTables {
  views: {
    id: string;
    account_id: string;
    number: number;
    name: string;
    created_at: number;
    answer_status: number;
    /** JSON: pairs (name, value). */
    answer_headers: string;
    answer_body: string;
    answer_delay_ms: number;
    answer_cors: number;
    /** Whether placeholders in body and headers are replaced by values from the call. */
    answer_template: Generated<number>;
    /** The provider whose verification challenge the view responds to. */
    answer_challenge: string | null;
    /** The provider's secret. */
    answer_secret: string | null;
    retention_days: number;
    max_captures: number;
    /** Current captures and their bytes. */
    captures: Generated<number>;
    bytes: Generated<number>;
    /** The newest cursor ever. */
    last_cursor: Generated<number>;
    oldest_at: number | null;
    last_capture_at: number | null;
  };
  /** The last view number in each account. */
  view_numbers: { account_id: string; last: number };
  /** Captures that were deleted one by one, and can be restored for some minutes. */
  removed_captures: ViewTables["captures"] & { removed_at: number };
  /** Deleted views whose captures still exist. */
  removed_views: { id: string };
  captures: {
    view_id: string;
    /** Counts up within the view, in commit order. */
    cursor: number;
    received_at: number;
    method: string;
    target: string;
    host: string;
    http_version: string;
    /** JSON: alternating names and values, one character per byte. */
    headers: string;
    address: string;
    content_type: string | null;
    body_size: number;
    /** The id of the chunks behind {@link body}, if any. */
    body_id: string | null;
    /** The capture's size in bytes. */
    size: number;
    /** The body, or its beginning. */
    body: Uint8Array;
    /** JSON as in {@link headers}; null if empty. SQLite reads columns in their order, so lists omit both of these. */
    trailers: string | null;
  };
  body_pieces: { body_id: string; number: number; bytes: Uint8Array };
  /** Bodies without a capture yet. Those left by a crash are removed. */
  uploads: { body_id: string; begun_at: number };
}

/** Creates {@link ViewTables}. */
export const views: Migration = {
  name: "views",
  async run(db, dialect) {
    await db.schema.createTable("views")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("account_id", "text", (column) => column.notNull())
      .addColumn("number", "integer", (column) => column.notNull())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("answer_status", "integer", (column) => column.notNull())
      .addColumn("answer_headers", "text", (column) => column.notNull())
      .addColumn("answer_body", "text", (column) => column.notNull())
      .addColumn("answer_delay_ms", "integer", (column) => column.notNull())
      .addColumn("answer_cors", "integer", (column) => column.notNull())
      .addColumn("retention_days", "bigint", (column) => column.notNull())
      .addColumn("max_captures", "integer", (column) => column.notNull())
      .addColumn("captures", "bigint", (column) => column.notNull().defaultTo(0))
      .addColumn("bytes", "bigint", (column) => column.notNull().defaultTo(0))
      .addColumn("last_cursor", "bigint", (column) => column.notNull().defaultTo(0))
      .addColumn("oldest_at", "bigint")
      .addColumn("last_capture_at", "bigint")
      .execute();
    await db.schema.createIndex("views_account").on("views").columns(["account_id", "number"]).execute();
    await db.schema.createTable("view_numbers")
      .addColumn("account_id", "text", (column) => column.primaryKey())
      .addColumn("last", "integer", (column) => column.notNull())
      .execute();
    await db.schema.createTable("removed_views")
      .addColumn("id", "text", (column) => column.primaryKey())
      .execute();
    await db.schema.createTable("captures")
      .addColumn("view_id", "text", (column) => column.notNull())
      .addColumn("cursor", "bigint", (column) => column.notNull())
      .addColumn("received_at", "bigint", (column) => column.notNull())
      .addColumn("method", "text", (column) => column.notNull())
      .addColumn("target", "text", (column) => column.notNull())
      .addColumn("host", "text", (column) => column.notNull())
      .addColumn("http_version", "text", (column) => column.notNull())
      .addColumn("headers", "text", (column) => column.notNull())
      .addColumn("address", "text", (column) => column.notNull())
      .addColumn("content_type", "text")
      .addColumn("body_size", "bigint", (column) => column.notNull())
      .addColumn("body_id", "text")
      .addColumn("size", "bigint", (column) => column.notNull())
      .addColumn("body", bytesOf(dialect), (column) => column.notNull())
      .addPrimaryKeyConstraint("captures_key", ["view_id", "cursor"])
      .execute();
    await db.schema.createTable("body_pieces")
      .addColumn("body_id", "text", (column) => column.notNull())
      .addColumn("number", "integer", (column) => column.notNull())
      .addColumn("bytes", bytesOf(dialect), (column) => column.notNull())
      .addPrimaryKeyConstraint("body_pieces_key", ["body_id", "number"])
      .execute();
    await db.schema.createTable("uploads")
      .addColumn("body_id", "text", (column) => column.primaryKey())
      .addColumn("begun_at", "bigint", (column) => column.notNull())
      .execute();
  },
};

/** Adds trailers, restorable deletions, and responses that depend on the request. */
export const viewResponses: Migration = {
  name: "view_responses",
  async run(db, dialect) {
    await db.schema.alterTable("captures").addColumn("trailers", "text").execute();
    await db.schema.alterTable("views")
      .addColumn("answer_template", "integer", (column) => column.notNull().defaultTo(0)).execute();
    await db.schema.alterTable("views").addColumn("answer_challenge", "text").execute();
    await db.schema.alterTable("views").addColumn("answer_secret", "text").execute();
    await db.schema.createTable("removed_captures")
      .addColumn("view_id", "text", (column) => column.notNull())
      .addColumn("cursor", "bigint", (column) => column.notNull())
      .addColumn("removed_at", "bigint", (column) => column.notNull())
      .addColumn("received_at", "bigint", (column) => column.notNull())
      .addColumn("method", "text", (column) => column.notNull())
      .addColumn("target", "text", (column) => column.notNull())
      .addColumn("host", "text", (column) => column.notNull())
      .addColumn("http_version", "text", (column) => column.notNull())
      .addColumn("headers", "text", (column) => column.notNull())
      .addColumn("address", "text", (column) => column.notNull())
      .addColumn("content_type", "text")
      .addColumn("body_size", "bigint", (column) => column.notNull())
      .addColumn("body_id", "text")
      .addColumn("size", "bigint", (column) => column.notNull())
      .addColumn("trailers", "text")
      .addColumn("body", bytesOf(dialect), (column) => column.notNull())
      .addPrimaryKeyConstraint("removed_captures_key", ["view_id", "cursor"])
      .execute();
    await db.schema.createIndex("removed_captures_at").on("removed_captures").column("removed_at").execute();
  },
};

/** Returns the type for bytes. */
function bytesOf(dialect: Dialect): "blob" | "bytea" {
  return dialect === "postgres" ? "bytea" : "blob";
}
