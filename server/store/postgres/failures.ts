import postgres from "postgres";
import { StoreUnavailable } from "../errors.ts";

/**
 * SQLSTATE classes (https://www.postgresql.org/docs/current/errcodes-appendix.html) for an unreachable database:
 * connection, authentication, shutdown and timeout.
 */
const AWAY = /^(08...|28...|3D000|53300|57P0.|57014)$/;
/** SQLSTATE classes for storage problems: disk, memory, a corrupt file, a read-only server. */
const UNFIT = /^(25006|53...|58...|XX...)$/;

/** The query timed out. */
export class QueryLate extends Error {
  override name = "QueryLate";
}

/** Tracks whether the database stores data. */
export class PostgresWatch {
  #failure: { reason: string; isAway: boolean } | null = null;
  readonly #whenAway: () => void;

  /** @param whenAway called each time the database is unreachable */
  constructor(whenAway: () => void) {
    this.#whenAway = whenAway;
  }

  /** The reason why writes fail, or null. */
  get failing(): string | null {
    return this.#failure?.reason ?? null;
  }

  /** Whether the database was unreachable at the last attempt. */
  get isAway(): boolean {
    return this.#failure?.isAway ?? false;
  }

  /** Records a successful query. A full disk still allows reads. */
  noteSuccess(isWrite: boolean): void {
    if (this.#failure !== null && (isWrite || this.#failure.isAway)) this.#failure = null;
  }

  /** Returns the error to throw: {@link StoreUnavailable} when the machine caused the failure. */
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
  // Errors from the socket (ECONNREFUSED, EAI_AGAIN, …), from TLS, and from the library's own timeouts.
  return /^E(?!RR_)[A-Z_]+$|^CONNECT|^SASL_|^ERR_(TLS|SSL)|^UNABLE_TO_|CERT/.test(code) ? "away" : null;
}
