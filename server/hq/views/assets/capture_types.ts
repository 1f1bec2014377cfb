/** What captures are looked for by; empty texts are not looked for. */
export interface Filter {
  q: string;
  method: string;
  path: string;
  /** As the API takes them: ISO 8601. */
  from: string;
  to: string;
}
