import type { Kysely } from "kysely";
import { createCaptureReads } from "./reads.ts";
import { createCaptureRemoval } from "./removal.ts";
import { createCaptureWrites } from "./writes.ts";
import type { Captures } from "./types.ts";
import type { Database } from "../schema/mod.ts";

/** Captures in any database that Kysely speaks to. */
export function createCaptureStore(db: Kysely<Database>): Captures {
  return { ...createCaptureWrites(db), ...createCaptureReads(db), ...createCaptureRemoval(db) };
}
