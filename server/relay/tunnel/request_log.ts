/** A visitor's request as the tunnel's owner sees it. */
export interface RecentRequest {
  /** The time of its head in Unix milliseconds. */
  readonly at: number;
  readonly method: string;
  /** Path and query, cut at 2,000 characters. */
  readonly path: string;
  readonly status: number;
  /** Milliseconds from its head to the end of the response. */
  readonly ms: number;
  /** Heads and bodies in both directions. */
  readonly bytes: number;
  /** The port on the client's machine. */
  readonly port: number;
}

/** Requests that a log keeps. */
const MAX_REQUESTS = 100;
const MAX_PATH = 2000;

/** The last 100 requests of a tunnel. They stay in memory, because paths can contain secrets. */
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

  /** Returns the requests, newest first. */
  list(): RecentRequest[] {
    return this.#requests.toReversed();
  }
}
