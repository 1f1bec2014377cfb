/** A capture filter. Empty texts match all. */
export interface Filter {
  q: string;
  method: string;
  path: string;
  /** ISO 8601, as in the API. */
  from: string;
  to: string;
}

/** Capture parts that a user changed before sending it. Texts have one character a byte. */
export interface Edit {
  method?: string;
  /** Path and query below the view. */
  path?: string;
  headers?: [name: string, value: string][];
  /** Base64. */
  body?: string;
}
