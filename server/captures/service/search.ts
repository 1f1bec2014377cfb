import { Buffer } from "node:buffer";
import { yieldToEventLoop } from "../../../common/event_loop.ts";
import { readSearchableTexts } from "./searchable_text.ts";
import type { Capture, CaptureFilter, Captures, OpenedCapture } from "../../store/mod.ts";

/** A filter. A capture has to match every given member. */
export interface CaptureTextFilter extends CaptureFilter {
  /** A part of path and query, in any case. */
  path?: string;
  /** A part of method, path, headers or the body's beginning, in any case. */
  text?: string;
}

/** A search for one page of captures. */
export interface CaptureSearch extends CaptureTextFilter {
  limit: number;
  /** Whether to include the beginnings of bodies. */
  withBodies?: boolean;
}

/** A page of search results. Each search examines a bounded number of captures. */
export interface CapturePage {
  /** Newest first. */
  captures: (Capture | OpenedCapture)[];
  /** The cursor before which the next page begins; null at the end. */
  next: number | null;
}

/** Captures per read, some megabytes with the beginnings of their bodies. */
const STEP = 32;
/** Captures that one request examines. The response names the cursor to continue at. */
const MAX_LOOKED_AT = 2000;

/** Returns one page of a view's captures. The page may be short or even empty although more captures follow. */
export async function searchCaptures(store: Captures, viewId: string, search: CaptureSearch): Promise<CapturePage> {
  const { path, text, limit, withBodies = false, ...filter } = search;
  if (path === undefined && text === undefined) {
    const captures = await (withBodies ? store.listOpened(viewId, filter, limit) : store.list(viewId, filter, limit));
    return { captures, next: captures.length < limit ? null : captures[captures.length - 1].cursor };
  }
  const fits = createTest(path, text);
  const captures: OpenedCapture[] = [];
  let before = filter.before;
  for (let lookedAt = 0; lookedAt < MAX_LOOKED_AT && captures.length < limit;) {
    const step = await store.listOpened(viewId, { ...filter, before }, STEP);
    for (const capture of step) {
      if (captures.length === limit) break;
      if (await fits(capture)) captures.push(capture);
      before = capture.cursor;
    }
    if (step.length < STEP && captures.length < limit) return { captures, next: null };
    lookedAt += step.length;
    await yieldToEventLoop();
  }
  return { captures, next: before ?? null };
}

function createTest(
  path: string | undefined,
  text: string | undefined,
): (capture: OpenedCapture) => Promise<boolean> {
  const wantedPath = path === undefined ? null : toBytes(path);
  const wanted = text === undefined ? null : [toBytes(text), text.toLowerCase()];
  return async (capture) => {
    if (wantedPath !== null && !capture.path.toLowerCase().includes(wantedPath)) return false;
    if (wanted === null) return true;
    const texts = await readSearchableTexts(capture);
    return texts.some((one) => wanted.some((part) => one.includes(part)));
  };
}

/** Returns the UTF-8 bytes of a text, one character per byte, as paths and bodies are compared. */
const toBytes = (text: string): string => Buffer.from(text).toString("latin1").toLowerCase();
