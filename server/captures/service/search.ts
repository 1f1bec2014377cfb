import { Buffer } from "node:buffer";
import { yieldToEventLoop } from "../../../common/event_loop.ts";
import { readSearchableTexts } from "./searchable_text.ts";
import type { Capture, CaptureFilter, Captures, OpenedCapture } from "../../store/mod.ts";

/** A filter of captures. A capture has to match every member that is given. */
export interface CaptureTextFilter extends CaptureFilter {
  /** Within path and query, in any case. */
  path?: string;
  /** Within method, target, headers or the beginning of the body, in any case. */
  text?: string;
}

/** A search for one page of captures. */
export interface CaptureSearch extends CaptureTextFilter {
  limit: number;
  /** With the beginnings of bodies. */
  withBodies?: boolean;
}

/** A page of a search through captures, which looks at a bounded number of them at a time. */
export interface CapturePage {
  /** Newest first. */
  captures: (Capture | OpenedCapture)[];
  /** What to look before for more; null when all was looked at. */
  next: number | null;
}

/** Captures that are read in one step: with their bodies' beginnings some megabytes. */
const STEP = 32;
/** Captures that one question looks at: the answer says where to go on. */
const MAX_LOOKED_AT = 2000;

/** One page of a view's captures. It may have fewer than were asked for, even none, and still say where to go on. */
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

/** A text as paths and bodies hold it: its UTF-8, one character a byte. */
const toBytes = (text: string): string => Buffer.from(text).toString("latin1").toLowerCase();
