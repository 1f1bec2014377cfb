import type { Kysely } from "kysely";
import { createCaptureReads } from "./capture_reads.ts";
import { createCaptureRemoval } from "./capture_removal.ts";
import { createCaptureWrites } from "./capture_writes.ts";
import type { Captures } from "./capture_types.ts";
import type { Database } from "./schema/mod.ts";

/** Captures in any database that Kysely speaks to. */
export function createCaptureStore(db: Kysely<Database>): Captures {
  return { ...createCaptureWrites(db), ...createCaptureReads(db), ...createCaptureRemoval(db) };
}
