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

/** A captured call with its body: in base64, or left out where it is too long to be sent along. */
export type OpenedCaptureJson = CaptureJson & { body?: string; bodyTruncated?: true };
