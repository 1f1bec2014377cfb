import type { HttpError } from "../../common/http_error.ts";
import type { CaptureBatch, Captures } from "../store/mod.ts";

/** Why calls to views are refused, by the codes of errors. A fixed set: what else there may be counts as `other`. */
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

/** What became of calls to views since the server began. */
export interface CaptureFigures {
  /** Calls kept, and bytes of their bodies. */
  kept: number;
  bytes: number;
  /** Calls refused, by the reason. */
  refused: ReadonlyMap<string, number>;
  /** Commits of calls and of pieces of long bodies, and how long they took altogether. */
  commits: number;
  commitMs: number;
  /** Streams that follow a view now. */
  tails: number;
}

/** Counts what {@link CaptureFigures} tells. */
export class CaptureCounter {
  readonly #refused = new Map<string, number>(REASONS.map((reason) => [reason, 0]));
  #bytes = 0;
  #commits = 0;
  #commitMs = 0;

  /** The same store, whose commits are counted. */
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

  /** Counts a call that was not kept, by its code where that is one of the known ones. */
  refuse({ code }: HttpError): void {
    const reason = this.#refused.has(code) ? code : "other";
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
  }

  /** What was counted here, and what others know: calls that were kept, and streams that are open. */
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
