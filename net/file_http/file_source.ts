import type { Stats } from "node:fs";

/** An open file that is to be sent. */
export interface FileSource {
  readonly fd: number;
  readonly stat: Stats;
  /** All of its bytes, when they are in memory; then there is no descriptor. */
  readonly content?: Uint8Array<ArrayBuffer>;
  /** Its media type with charset, once it is known. */
  type?: string;
  /** Coded forms of `content` that were made. */
  coded?: Map<string, Uint8Array<ArrayBuffer>>;
  /** Closes it; no effect when called again. */
  close(): void;
}

/** What the answer depends on of a request: a `Request` is one. */
export interface FileRequest {
  readonly method: string;
  readonly headers: FieldReader;
}

/** The fields of a request by name; null for one that is not there. */
export interface FieldReader {
  get(name: string): string | null;
}
