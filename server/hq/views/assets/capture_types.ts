/** A capture as the API tells it. Texts of the head have one character a byte. */
export interface ShownCapture {
  id: string;
  cursor: number;
  receivedAt: string;
  method: string;
  host: string;
  path: string;
  query: string | null;
  httpVersion: string;
  headers: [string, string][];
  address: string;
  bodySize: number;
  contentType: string | null;
  /** Base64; left out where it is too long, or was not asked for. */
  body?: string;
  bodyTruncated?: true;
}

/** What captures are looked for by; empty texts are not looked for. */
export interface Filter {
  q: string;
  method: string;
  path: string;
  /** As the API takes them: ISO 8601. */
  from: string;
  to: string;
}
