/** What captures are looked for by; empty texts are not looked for. */
export interface Filter {
  q: string;
  method: string;
  path: string;
  /** As the API takes them: ISO 8601. */
  from: string;
  to: string;
}

/** What a URL answered to a capture that was sent to it, as the API tells it. */
export interface Replayed {
  url: string;
  status: number;
  statusText: string;
  /** One character a byte. */
  headers: [string, string][];
  durationMs: number;
  /** Base64. */
  body: string;
  bodyTruncated?: true;
}
