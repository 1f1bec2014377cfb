import type { CaptureJson } from "./capture_json.ts";
import { CONNECTION_FIELDS } from "../../net/http1/mod.ts";
import type { OutgoingFraming } from "../../net/upstream/mod.ts";

/** Names the views that a capture has come through, by which one that goes round in a circle is told. */
export const VIA_FIELD = "Portway-Capture";

/** A captured call as it is sent once more. */
export interface ReplayRequest {
  method: string;
  /** Path and query have one character a byte. */
  url: Pick<URL, "host" | "pathname" | "search">;
  /** Without what speaks of framing. */
  headers: [string, string][];
  framing: OutgoingFraming;
}

/** A capture that is sent once more, and to whom. */
export interface ReplayOptions {
  /** The target. Its path and query come before those of the capture. */
  service: Pick<URL, "host" | "pathname" | "search">;
  viewId: string;
  capture: Pick<CaptureJson, "method" | "host" | "path" | "query" | "headers" | "bodySize">;
  /** The Host that the service sees; null: the one that the capture came with. */
  hostHeader: string | null;
}

/**
 * A captured call for a service: method, path and query below the view as they came, and all header fields in their
 * order and case but those of one connection, Expect, and Host. For one request a connection.
 */
export function composeReplay({ service, viewId, capture, hostHeader }: ReplayOptions): ReplayRequest {
  const { method, headers, bodySize } = capture;
  const own = headers.find(([name]) => name.toLowerCase() === "host")?.[1] ?? capture.host;
  const named = headers.filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((word) => word.trim().toLowerCase()));
  const left = new Set([...CONNECTION_FIELDS, ...named, "host", "expect", "content-length"]);
  // A body that was announced as empty is announced as such again.
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

/** Path and query as they were sent, below the view. */
export function pathBelowView({ path, query }: Pick<CaptureJson, "path" | "query">): string {
  const below = /^\/req\/[^/]*(.*)$/s.exec(path)?.[1] ?? path;
  return `${below}${query === null ? "" : `?${query}`}`;
}

/** Joins two queries, each "" or with its question mark. */
function joinQuery(base: string, below: string): string {
  return base === "" || below === "" ? base + below : `${base}&${below.slice(1)}`;
}

/** The service's path before the capture's, with one slash between them. */
function joinPath(base: string, below: string): string {
  return below === "" ? base : base.replace(/\/$/, "") + below;
}
