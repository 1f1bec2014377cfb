import fs from "node:fs";
import path from "node:path";
import { HttpError } from "../../../common/http_error.ts";
import type { Root } from "../disk/root.ts";

/** Concurrent listeners. */
const MAX_LISTENERS = 256;
/** Changes within this many milliseconds after the first are reported together. */
const GATHER_MS = 300;
/** Interval in milliseconds between heartbeats, which keep proxies from closing an idle connection. */
const BEAT_MS = 25_000;

type Tell = (text: string) => void;

const encoder = new TextEncoder();

/**
 * Notifies visitors about changes in a folder by server-sent events, with at most 256 streams. The creator closes it.
 */
export class WatchRoutes {
  readonly #root: Root;
  readonly #watched = new Map<string, WatchedFolder>();
  readonly #ends = new Set<() => void>();

  constructor(root: Root) {
    this.#root = root;
  }

  /**
   * Opens a stream with a `change` event per change in a folder. Throws 404, or 503 when the listener limit is reached.
   */
  answer(request: Request, segments: readonly string[]): Response {
    if (this.#ends.size >= MAX_LISTENERS) {
      throw new HttpError(503, "too_many_listeners", "Too many visitors listen for changes.", {
        headers: { "retry-after": "60" },
      });
    }
    const folder = this.#root.openFolder(segments);
    const realPath = path.join(this.#root.path, ...folder.segments);
    folder.close();
    const headers = {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    };
    return new Response(request.method === "HEAD" ? null : this.#openStream(realPath, request.signal), { headers });
  }

  #openStream(realPath: string, signal: AbortSignal): ReadableStream<Uint8Array> {
    let end = () => {};
    return new ReadableStream({
      start: (controller) => {
        end = this.#addListener(realPath, controller, signal);
      },
      cancel: () => end(),
    }, { highWaterMark: 16 });
  }

  /** Returns a function that removes the listener. */
  #addListener(
    realPath: string,
    controller: ReadableStreamDefaultController<Uint8Array>,
    signal: AbortSignal,
  ): () => void {
    const tell: Tell = (text) => {
      // A slow reader receives one event instead of a long queue.
      if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text));
    };
    const leave = this.#listen(realPath, tell);
    const beat = setInterval(() => tell(":\n\n"), BEAT_MS);
    const end = () => {
      if (!this.#ends.delete(end)) return;
      clearInterval(beat);
      leave();
      signal.removeEventListener("abort", stop);
    };
    const stop = () => {
      end();
      controller.close();
    };
    this.#ends.add(end);
    signal.addEventListener("abort", stop);
    tell("retry: 3000\n\n");
    return end;
  }

  /** Returns a function that unsubscribes. All listeners of a folder share one watcher. */
  #listen(realPath: string, tell: Tell): () => void {
    const folder = this.#watched.get(realPath) ?? new WatchedFolder(realPath);
    this.#watched.set(realPath, folder);
    folder.listeners.add(tell);
    return () => {
      folder.listeners.delete(tell);
      if (folder.listeners.size > 0) return;
      folder.close();
      this.#watched.delete(realPath);
    };
  }

  /** Ends all streams. */
  close(): void {
    for (const end of [...this.#ends]) end();
  }
}

class WatchedFolder {
  readonly listeners = new Set<Tell>();
  readonly #watcher: fs.FSWatcher | null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(realPath: string) {
    this.#watcher = openWatcher(realPath, () => this.#timer ??= setTimeout(() => this.#tellAll(), GATHER_MS));
  }

  #tellAll(): void {
    this.#timer = undefined;
    for (const tell of this.listeners) tell("event: change\ndata:\n\n");
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#watcher?.close();
  }
}

/**
 * Opens a watcher. Returns null where the system cannot watch the folder or has no watchers left; the page then polls.
 */
function openWatcher(realPath: string, onchange: () => void): fs.FSWatcher | null {
  try {
    const watcher = fs.watch(realPath, { persistent: false }, onchange);
    // A deleted folder counts as a change.
    watcher.on("error", onchange);
    return watcher;
  } catch {
    return null;
  }
}
