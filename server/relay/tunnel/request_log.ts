/** A visitor's request as the tunnel's owner sees it. */
export interface RecentRequest {
  /** The time when its head arrived, in Unix milliseconds. */
  readonly at: number;
  readonly method: string;
  /** Path and query, cut at 2,000 characters. */
  readonly path: string;
  readonly status: number;
  /** Milliseconds from its head to the response's end. */
  readonly ms: number;
  /** Heads and bodies in both directions. */
  readonly bytes: number;
  /** The port on the client's machine. */
  readonly port: number;
}

/** Requests that a log keeps. */
const MAX_REQUESTS = 100;
const MAX_PATH = 2000;
/** Memory for a request besides its path. */
const REQUEST_BYTES = 200;
/** Memory for the logs that unused tunnels have. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;
const KEEP_MS = 24 * 60 * 60 * 1000;

/** A tunnel's last 100 requests. They stay in memory, because paths can contain secrets. */
export class RequestLog {
  readonly #requests: RecentRequest[] = [];
  #uncounted = 0;

  /** Requests that ended and that the store has not counted yet. */
  get uncounted(): number {
    return this.#uncounted;
  }

  /** Adds a request. The oldest one beyond 100 is removed. */
  add(request: RecentRequest): void {
    const { path } = request;
    this.#requests.push(path.length > MAX_PATH ? { ...request, path: path.slice(0, MAX_PATH) } : request);
    if (this.#requests.length > MAX_REQUESTS) this.#requests.shift();
    this.#uncounted++;
  }

  /** Returns {@link uncounted} and counts those requests as stored. */
  takeUncounted(): number {
    const taken = this.#uncounted;
    this.#uncounted = 0;
    return taken;
  }

  /** Takes back requests of {@link takeUncounted} that could not be stored. */
  returnUncounted(count: number): void {
    this.#uncounted += count;
  }

  /** Approximate memory in bytes. */
  get size(): number {
    return this.#requests.reduce((sum, { path }) => sum + path.length + REQUEST_BYTES, 0);
  }

  /** Returns the requests, newest first. */
  list(): RecentRequest[] {
    return this.#requests.toReversed();
  }
}

/**
 * Logs by tunnel id, for tunnels that left memory, so that their owners can read them after the client has disconnected. The
 * oldest ones are removed after a day, or earlier if all logs need more than 8 MiB.
 */
export class KeptLogs {
  readonly #logs = new Map<string, { readonly log: RequestLog; readonly size: number; readonly until: number }>();
  #size = 0;

  /** Keeps a log. @param now Unix milliseconds */
  keep(id: string, log: RequestLog, now: number): void {
    this.take(id);
    const { size } = log;
    if (size === 0) return;
    this.#logs.set(id, { log, size, until: now + KEEP_MS });
    this.#size += size;
    this.#removeOld(now);
  }

  /** Returns a tunnel's log, or undefined. */
  get(id: string): RequestLog | undefined {
    return this.#logs.get(id)?.log;
  }

  /** Returns a tunnel's log and stops keeping it. */
  take(id: string): RequestLog | undefined {
    const kept = this.#logs.get(id);
    if (kept === undefined) return undefined;
    this.#logs.delete(id);
    this.#size -= kept.size;
    return kept.log;
  }

  #removeOld(now: number): void {
    for (const [id, { until }] of this.#logs) {
      if (until > now && this.#size <= MAX_KEPT_BYTES) return;
      this.take(id);
    }
  }
}
