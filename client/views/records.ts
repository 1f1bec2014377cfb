import type { CaptureJson, ViewJson } from "../../common/captures/capture_json.ts";
import { asRecord } from "../api/mod.ts";

/** A view, as far as commands show it. */
export interface ViewRecord extends ViewJson {
  /** The status that its capture URL returns. */
  status: number;
}

/** A captured call with its body in base64; null when the body is too long to be included. */
export type CaptureRecord = CaptureJson & { body: string | null };

/** The client does not understand the server's response. */
class NotUnderstood extends Error {
  override name = "NotUnderstood";
}

/** @throws NotUnderstood */
export function parseView(value: unknown): ViewRecord {
  const view = asRecord(value);
  return {
    id: text(view, "id"),
    name: text(view, "name"),
    captureUrl: text(view, "captureUrl"),
    browserUrl: text(view, "browserUrl"),
    createdAt: text(view, "createdAt"),
    captures: count(view, "captures"),
    bytes: count(view, "bytes"),
    lastCaptureAt: view.lastCaptureAt === null ? null : text(view, "lastCaptureAt"),
    status: count(asRecord(view.answer), "status"),
    retentionDays: count(view, "retentionDays"),
    maxCaptures: count(view, "maxCaptures"),
  };
}

/** @throws NotUnderstood */
export function parseViews(value: unknown): ViewRecord[] {
  const { views } = asRecord(value);
  if (!Array.isArray(views)) throw missing("views");
  return views.map(parseView);
}

/** @throws NotUnderstood */
export function parseCapture(value: unknown): CaptureRecord {
  const capture = asRecord(value);
  const { headers } = capture;
  if (!Array.isArray(headers)) throw missing("headers");
  return {
    id: text(capture, "id"),
    cursor: count(capture, "cursor"),
    receivedAt: text(capture, "receivedAt"),
    method: text(capture, "method"),
    host: text(capture, "host"),
    path: text(capture, "path"),
    query: capture.query === null ? null : text(capture, "query"),
    httpVersion: text(capture, "httpVersion"),
    headers: headers.map((pair: unknown) => {
      const { 0: name, 1: value } = Array.isArray(pair) ? pair : [];
      if (typeof name !== "string" || typeof value !== "string") throw missing("headers");
      return [name, value];
    }),
    address: text(capture, "address"),
    bodySize: count(capture, "bodySize"),
    contentType: typeof capture.contentType === "string" ? capture.contentType : null,
    body: typeof capture.body === "string" ? capture.body : null,
  };
}

function text(record: Record<string, unknown>, name: string): string {
  const value = record[name];
  if (typeof value !== "string") throw missing(name);
  return value;
}

function count(record: Record<string, unknown>, name: string): number {
  const value = record[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw missing(name);
  return value;
}

const missing = (name: string) => new NotUnderstood(`the server's response has no "${name}" that can be used`);
