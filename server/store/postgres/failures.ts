import postgres from "postgres";
import { StoreUnavailable } from "../errors.ts";

/**
 * Classes of SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html) for what the machine refuses,
 * with nothing wrong in what was asked. Those of the connection, of who may connect, of shutting down and of time up:
 */
const AWAY = /^(08...|28...|3D000|53300|57P0.|57014)$/;
/** And those that concern what is kept: no space, no memory, a broken file, a server that only reads. */
const UNFIT = /^(25006|53...|58...|XX...)$/;

/** No answer has come in time. */
export class QueryLate extends Error {
  override name = "QueryLate";
}

/** Knows whether what is stored is kept. */
export class PostgresWatch {
  #failure: { reason: string; isAway: boolean } | null = null;
  readonly #whenAway: () => void;

  /** @param whenAway is told each time that the database could not be reached */
  constructor(whenAway: () => void) {
    this.#whenAway = whenAway;
  }

  /** Why nothing can be kept, or null. */
  get failing(): string | null {
    return this.#failure?.reason ?? null;
  }

  /** Whether the last that is known of the database is that it cannot be reached. */
  get isAway(): boolean {
    return this.#failure?.isAway ?? false;
  }

  /** Something was done. A disk that is full still reads. */
  noteSuccess(isWrite: boolean): void {
    if (this.#failure !== null && (isWrite || this.#failure.isAway)) this.#failure = null;
  }

  /** What to throw for a failed query: {@link StoreUnavailable} when the machine is the reason. */
  explain(cause: unknown): unknown {
    const kind = classify(cause);
    if (!(cause instanceof Error) || kind === null) return cause;
    const reason = cause.message.replace(/^write (CONNECT)/, "$1");
    this.#failure = { reason, isAway: kind === "away" };
    if (kind === "away") this.#whenAway();
    return new StoreUnavailable(reason, { cause });
  }
}

function classify(error: unknown): "away" | "unfit" | null {
  if (error instanceof StoreUnavailable) return null;
  if (error instanceof QueryLate) return "away";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (error instanceof postgres.PostgresError) return AWAY.test(code) ? "away" : UNFIT.test(code) ? "unfit" : null;
  // Of the socket (ECONNREFUSED, EAI_AGAIN ...), of TLS, and of the library's own watch over them.
  return /^E(?!RR_)[A-Z_]+$|^CONNECT|^SASL_|^ERR_(TLS|SSL)|^UNABLE_TO_|CERT/.test(code) ? "away" : null;
}
