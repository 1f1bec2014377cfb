/** A captured call as the server's API tells it, to commands and pages alike, without its body. */
export interface CaptureJson {
  /** Its cursor as text: unique within its view. */
  id: string;
  /** Counts up within its view. */
  cursor: number;
  /** ISO 8601. */
  receivedAt: string;
  method: string;
  host: string;
  /** As it was sent, with `/req/<view>`, one character a byte. */
  path: string;
  /** What is behind the first question mark; null when there is none. */
  query: string | null;
  httpVersion: string;
  /** In their order and case, duplicates too, one character a byte. */
  headers: [string, string][];
  address: string;
  /** Bytes. */
  bodySize: number;
  contentType: string | null;
}

/** A captured call with its body in base64, which is left out where it is too long, and with trailers if it has any. */
export type OpenedCaptureJson = CaptureJson & {
  body?: string;
  bodyTruncated?: true;
  /** In the form of {@link CaptureJson.headers}. */
  trailers?: [string, string][];
};

/** A request view as the API tells it to all. Times are ISO 8601. */
export interface ViewJson {
  id: string;
  name: string;
  /** Where calls are sent to. */
  captureUrl: string;
  /** Where they are looked at. */
  browserUrl: string;
  createdAt: string;
  captures: number;
  /** Of all captures that are kept. */
  bytes: number;
  lastCaptureAt: string | null;
  retentionDays: number;
  maxCaptures: number;
}

/** What an address answered to a capture that was sent to it. */
export interface ReplayedJson {
  /** Where it was sent, with the path of the capture. */
  url: string;
  status: number;
  statusText: string;
  /** One character a byte. */
  headers: [string, string][];
  durationMs: number;
  /** Base64 of the body, or of its beginning. */
  body: string;
  /** The body is longer, or broke off. */
  bodyTruncated?: true;
  /** Base64 of what is in `body` under its Content-Encoding, or of the beginning; left out where that is not undone. */
  decoded?: string;
  /** There is more in the body than that. */
  decodedTruncated?: true;
}
