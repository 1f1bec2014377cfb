import { Unsaved } from "./unsaved.ts";

/** A visitor's request as its tunnel's owner sees it. */
export interface RecentRequest {
  /** When it came, in Unix milliseconds. */
  readonly at: number;
  readonly method: string;
  /** Path and query, cut at 2,000 characters. */
  readonly path: string;
  readonly status: number;
  /** From its head to the end of its answer. */
  readonly ms: number;
  /** Heads and bodies, both directions. */
  readonly bytes: number;
  /** The port of the client's machine. */
  readonly port: number;
}

/** Requests that are remembered. */
const MAX_REQUESTS = 100;
const MAX_PATH = 2000;

/** The last 100 requests of a tunnel, in memory only: they may hold what nobody else should read. */
export class RequestLog {
  readonly #requests: RecentRequest[] = [];
  /** All requests that ended. */
  readonly unsaved = new Unsaved();

  /** Keeps one more, and forgets the oldest beyond 100. */
  add(request: RecentRequest): void {
    const { path } = request;
    this.#requests.push(path.length > MAX_PATH ? { ...request, path: path.slice(0, MAX_PATH) } : request);
    if (this.#requests.length > MAX_REQUESTS) this.#requests.shift();
    this.unsaved.add(1);
  }

  /** Newest first. */
  list(): RecentRequest[] {
    return this.#requests.toReversed();
  }
}
