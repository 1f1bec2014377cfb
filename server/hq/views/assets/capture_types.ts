/** What captures are looked for by; empty texts are not looked for. */
export interface Filter {
  q: string;
  method: string;
  path: string;
  /** As the API takes them: ISO 8601. */
  from: string;
  to: string;
}

/** Parts of a capture that a user changed before sending it. Texts have one character a byte. */
export interface Edit {
  method?: string;
  /** Path and query below the view. */
  path?: string;
  headers?: [name: string, value: string][];
  /** Base64. */
  body?: string;
}
