import fs from "node:fs";
import path from "node:path";
import { HttpError } from "../../../common/http_error.ts";
import type { Root } from "../disk/root.ts";

/** Visitors that listen at once. */
const MAX_LISTENERS = 256;
/** Changes that come together are told once, so long after the first. */
const GATHER_MS = 300;
/** How often something is sent, so that nobody on the way takes the connection for dead. */
const BEAT_MS = 25_000;

type Tell = (text: string) => void;

const encoder = new TextEncoder();

/**
 * Tells visitors when something in a folder was changed by anybody, as server-sent events: at most 256 streams at once.
 * Whoever creates it closes it.
 */
export class WatchRoutes {
  readonly #root: Root;
  readonly #watched = new Map<string, WatchedFolder>();
  readonly #ends = new Set<() => void>();

  constructor(root: Root) {
    this.#root = root;
  }

  /** A stream with an event `change` whenever entries of a folder changed. Throws 404, 503 when too many listen. */
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

  /** Returns what ends it. */
  #addListener(
    realPath: string,
    controller: ReadableStreamDefaultController<Uint8Array>,
    signal: AbortSignal,
  ): () => void {
    const tell: Tell = (text) => {
      // Who does not read hears of one change and not of a thousand.
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

  /** Returns what leaves again. A folder is watched once for all who listen to it. */
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

  /** Ends all of them. */
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

/** Null where the system watches no folder, or no more of them: nothing is told then, and the page looks by itself. */
function openWatcher(realPath: string, onchange: () => void): fs.FSWatcher | null {
  try {
    const watcher = fs.watch(realPath, { persistent: false }, onchange);
    // The folder has gone: that is a change, too.
    watcher.on("error", onchange);
    return watcher;
  } catch {
    return null;
  }
}
