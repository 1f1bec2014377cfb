import type { CaptureJson, OpenedCaptureJson, ViewJson } from "../../../common/captures/capture_json.ts";
import { Buffer } from "node:buffer";
import type { Capture, OpenedCapture, View, ViewResponse } from "../../store/mod.ts";

/** A view as its members see it. Times are ISO 8601. */
export interface DescribedView extends ViewJson {
  number: number;
  answer: Omit<ViewResponse, "challengeSecret"> & {
    /** Whether a secret is stored, which the API never returns. */
    hasChallengeSecret: boolean;
  };
}

/** The URLs below which views are reachable, without a slash at the end. */
export interface ViewUrls {
  apiUrl: string;
  hqUrl: string;
}

/** Describes a view with the two addresses that receive calls. */
export function describeViewRecord(view: View, { apiUrl, hqUrl }: ViewUrls): DescribedView {
  const { id, name, number, captures, bytes, retentionDays, maxCaptures, lastCaptureAt } = view;
  const { challengeSecret, ...answer } = view.answer;
  return {
    id,
    name,
    number,
    captureUrl: `${apiUrl}/req/${id}`,
    browserUrl: `${hqUrl}/views/${id}/capture`,
    createdAt: new Date(view.createdAt).toISOString(),
    captures,
    bytes,
    lastCaptureAt: lastCaptureAt === null ? null : new Date(lastCaptureAt).toISOString(),
    answer: { ...answer, hasChallengeSecret: challengeSecret !== null },
    retentionDays,
    maxCaptures,
  };
}

/** Describes a capture's head. Path and query are as received. */
export function describeCapture(capture: Capture): CaptureJson {
  const { cursor, method, host, httpVersion, headers, address, bodySize, contentType } = capture;
  const mark = capture.path.indexOf("?");
  return {
    id: String(cursor),
    cursor,
    receivedAt: new Date(capture.receivedAt).toISOString(),
    method,
    host,
    path: mark < 0 ? capture.path : capture.path.slice(0, mark),
    query: mark < 0 ? null : capture.path.slice(mark + 1),
    httpVersion,
    headers: toPairs(headers),
    address,
    bodySize,
    contentType,
  };
}

/** Describes a capture with its body, if that is short enough to be stored in its row. */
export function describeOpened(capture: OpenedCapture): OpenedCaptureJson {
  const { trailers } = capture;
  const head = { ...describeCapture(capture), ...(trailers.length > 0 && { trailers: toPairs(trailers) }) };
  if (capture.bodyId !== null) return { ...head, bodyTruncated: true };
  const { buffer, byteOffset, byteLength } = capture.body;
  return { ...head, body: Buffer.from(buffer, byteOffset, byteLength).toString("base64") };
}

function toPairs(fields: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < fields.length; at += 2) pairs.push([fields[at], fields[at + 1]]);
  return pairs;
}
