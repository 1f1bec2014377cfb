import { type CapturesArea, type CapturesOptions, createCaptures } from "../captures/mod.ts";
import { createLocalArrivals } from "../cluster/mod.ts";
import type { ServerConfig } from "../config.ts";
import { openOriginReader } from "./origin_reader.ts";

/** Bytes of calls that wait in memory for a slow disk, before more are turned away. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

/** Small captures count as this much, which bounds the rows of a view. */
const LEAST_CAPTURE_BYTES = 16 * 1024;

/** The largest number that PostgreSQL's `integer` column holds. */
const MOST_CAPTURES = 2 ** 31 - 1;

/** Request views as the options want them. @param url where the server is reached */
export function openCaptures(
  config: ServerConfig,
  parts: Pick<CapturesOptions, "store" | "authenticate" | "onEnded" | "log" | "send" | "note">,
  url: URL,
): CapturesArea {
  return createCaptures({
    ...parts,
    arrivals: createLocalArrivals(),
    readOrigin: openOriginReader(config),
    apiUrl: (config.apiUrl ?? url).origin,
    hqUrl: (config.hqUrl ?? url).origin,
    maxBodyBytes: config.viewBodyBytes,
    maxCaptures: Math.min(Math.max(1, Math.floor(config.viewBytes / LEAST_CAPTURE_BYTES)), MOST_CAPTURES),
    maxViewBytes: config.viewBytes,
    retentionDays: config.viewRetentionDays,
    maxViews: config.viewsPerAccount,
    perView: config.viewCallsPerMinute,
    perAddress: config.viewCallsPerMinute,
    maxHeldBytes: MAX_HELD_BYTES,
    replaysPerMinute: config.viewReplaysPerMinute,
  });
}
