import { type CapturesArea, type CapturesOptions, createCaptures } from "../captures/mod.ts";
import { createLocalArrivals } from "../cluster/mod.ts";
import type { ServerConfig } from "../config.ts";
import { openOriginReader } from "./origin_reader.ts";

/** Bytes that calls may hold in memory while they wait for a slow disk. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

/** Small captures count as this much, which bounds a view's rows. */
const LEAST_CAPTURE_BYTES = 16 * 1024;

/** The largest number that PostgreSQL's `integer` column holds. */
const MOST_CAPTURES = 2 ** 31 - 1;

/** Opens request views by the options. @param url the server's public URL */
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
