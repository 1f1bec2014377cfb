import type { CaptureJson } from "./capture_json.ts";
import { CONNECTION_FIELDS } from "../../net/http1/mod.ts";
import type { OutgoingFraming } from "../../net/upstream/mod.ts";

/** The field that names the views through which a capture passed. A view refuses a call that passed it before. */
export const VIA_FIELD = "Portway-Capture";

/** A captured call that is sent again. */
export interface ReplayRequest {
  method: string;
  /** Path and query have one character per byte. */
  url: Pick<URL, "host" | "pathname" | "search">;
  /** All fields except those for framing. */
  headers: [string, string][];
  framing: OutgoingFraming;
}

/** A capture and its target. */
export interface ReplayOptions {
  /** The target, whose path and query precede the captured ones. */
  service: Pick<URL, "host" | "pathname" | "search">;
  viewId: string;
  capture: Pick<CaptureJson, "method" | "host" | "path" | "query" | "headers" | "bodySize">;
  /** The Host field for the service; null keeps the captured one. */
  hostHeader: string | null;
}

/**
 * Composes the request for a service from a captured call. Method, path and query below the view, and header fields
 * stay as received, except Host, Expect and the fields for a single connection. Each request uses its own connection.
 */
export function composeReplay({ service, viewId, capture, hostHeader }: ReplayOptions): ReplayRequest {
  const { method, headers, bodySize } = capture;
  const own = headers.find(([name]) => name.toLowerCase() === "host")?.[1] ?? capture.host;
  const named = headers.filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((word) => word.trim().toLowerCase()));
  const left = new Set([...CONNECTION_FIELDS, ...named, "host", "expect", "content-length"]);
  // An empty body keeps its Content-Length.
  const saidLength = headers.some(([name]) => name.toLowerCase() === "content-length");
  const framing: OutgoingFraming = bodySize > 0 || saidLength ? { length: bodySize } : "none";
  const below = pathBelowView(capture), mark = below.indexOf("?");
  const pathname = joinPath(service.pathname, mark < 0 ? below : below.slice(0, mark));
  return {
    method,
    url: { host: service.host, pathname, search: joinQuery(service.search, mark < 0 ? "" : below.slice(mark)) },
    headers: [
      ["Host", hostHeader ?? own],
      ...headers.filter(([name]) => !left.has(name.toLowerCase())),
      [VIA_FIELD, viewId],
      ["Connection", "close"],
    ],
    framing,
  };
}

/** Returns path and query below the view, as received. */
export function pathBelowView({ path, query }: Pick<CaptureJson, "path" | "query">): string {
  const below = /^\/req\/[^/]*(.*)$/s.exec(path)?.[1] ?? path;
  return `${below}${query === null ? "" : `?${query}`}`;
}

/** Joins two queries, each "" or with its question mark. */
function joinQuery(base: string, below: string): string {
  return base === "" || below === "" ? base + below : `${base}&${below.slice(1)}`;
}

/** Joins two paths with one slash between them. */
function joinPath(base: string, below: string): string {
  return below === "" ? base : base.replace(/\/$/, "") + below;
}
