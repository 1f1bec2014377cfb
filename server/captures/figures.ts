import type { HttpError } from "../../common/http_error.ts";
import type { CaptureBatch, Captures } from "../store/mod.ts";

/** Reasons for refused calls, by error code. The set is fixed, so other codes count as `other`. */
const REASONS = [
  "view_not_found",
  "too_many_requests",
  "body_too_large",
  "expectation_failed",
  "loop_detected",
  "busy",
  "storage_failed",
  "other",
] as const;

/** Counters since the server started. */
export interface CaptureFigures {
  /** Stored calls, and the bytes in their bodies. */
  kept: number;
  bytes: number;
  /** Refused calls by reason. */
  refused: ReadonlyMap<string, number>;
  /** Commits with calls or body chunks, and their total duration. */
  commits: number;
  commitMs: number;
  /** Open streams. */
  tails: number;
}

/** Counts for {@link CaptureFigures}. */
export class CaptureCounter {
  readonly #refused = new Map<string, number>(REASONS.map((reason) => [reason, 0]));
  #bytes = 0;
  #commits = 0;
  #commitMs = 0;

  /** Wraps a store to count its commits. */
  watch({ keep }: Pick<Captures, "keep">): Pick<Captures, "keep"> {
    return {
      keep: async (batch, maxBytes) => {
        const startedAt = performance.now();
        const cursors = await keep(batch, maxBytes);
        this.#commits++;
        this.#commitMs += performance.now() - startedAt;
        this.#count(batch, cursors);
        return cursors;
      },
    };
  }

  /** Counts a refused call by its code, or as `other`. */
  refuse({ code }: HttpError): void {
    const reason = this.#refused.has(code) ? code : "other";
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
  }

  /** Combines its own counters with those from other objects. */
  read(known: Pick<CaptureFigures, "kept" | "tails">): CaptureFigures {
    const refused = new Map(this.#refused);
    return { ...known, bytes: this.#bytes, refused, commits: this.#commits, commitMs: this.#commitMs };
  }

  #count({ captures }: CaptureBatch, cursors: readonly (number | null)[]): void {
    for (const [at, { bodySize }] of captures.entries()) {
      if (cursors[at] !== null) this.#bytes += bodySize;
    }
  }
}
