/** A captured call as the API describes it to commands and pages, without its body. */
export interface CaptureJson {
  /** The cursor as text, unique within the view. */
  id: string;
  /** Counts up within the view. */
  cursor: number;
  /** ISO 8601. */
  receivedAt: string;
  method: string;
  host: string;
  /** The path as received, with `/req/<view>`, one character per byte. */
  path: string;
  /** The part behind the first question mark; null if missing. */
  query: string | null;
  httpVersion: string;
  /** Pairs in their original order and case, with duplicates, one character per byte. */
  headers: [string, string][];
  address: string;
  /** Bytes. */
  bodySize: number;
  contentType: string | null;
}

/** A captured call with its body in base64, unless that is too long, and with its trailers. */
export type OpenedCaptureJson = CaptureJson & {
  body?: string;
  bodyTruncated?: true;
  /** In the form of {@link CaptureJson.headers}. */
  trailers?: [string, string][];
};

/** A request view as the API describes it. Times are ISO 8601. */
export interface ViewJson {
  id: string;
  name: string;
  /** The URL that receives calls. */
  captureUrl: string;
  /** The page that shows captures. */
  browserUrl: string;
  createdAt: string;
  captures: number;
  /** Bytes in all stored captures. */
  bytes: number;
  lastCaptureAt: string | null;
  retentionDays: number;
  maxCaptures: number;
}

/** The response to a replayed capture. */
export interface ReplayedJson {
  /** The target URL with the capture's path. */
  url: string;
  status: number;
  statusText: string;
  /** One character per byte. */
  headers: [string, string][];
  durationMs: number;
  /** The body, or its beginning, in base64. */
  body: string;
  /** Whether the body is longer or broke off. */
  bodyTruncated?: true;
  /** The decoded beginning of the body in base64; left out where the content encoding is unknown. */
  decoded?: string;
  /** Whether the decoded body is longer. */
  decodedTruncated?: true;
}
