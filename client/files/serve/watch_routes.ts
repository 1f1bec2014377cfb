import fs from "node:fs";
import path from "node:path";
import { HttpError } from "../../../common/http_error.ts";
import type { Root } from "../disk/root.ts";

/** Tells visitors when something in a folder was changed by anybody, as server-sent events. */
export interface WatchRoutes {
  /** A stream with an event `change` whenever entries of a folder changed. Throws 404, 503 when too many listen. */
  answer(request: Request, segments: readonly string[]): Promise<Response>;
  /** Ends all of them. */
  close(): void;
}

/** Visitors that listen at once. */
const MAX_LISTENERS = 256;
/** Changes that come together are told once, so long after the first. */
const GATHER_MS = 300;
/** How often something is sent, so that nobody on the way takes the connection for dead. */
const BEAT_MS = 25_000;

type Tell = (text: string) => void;

/** A folder that is watched for all who listen to it. */
interface Watched {
  readonly listeners: Set<Tell>;
  close(): void;
}

/** The streams that tell visitors of changes, at most 256 at once. Whoever creates it closes it. */
export function createWatchRoutes(root: Root): WatchRoutes {
  const watched = new Map<string, Watched>();
  const ends = new Set<() => void>();

  function listen(realPath: string, tell: Tell): () => void {
    let folder = watched.get(realPath);
    if (folder === undefined) {
      folder = watchFolder(realPath);
      watched.set(realPath, folder);
    }
    const { listeners, close } = folder;
    listeners.add(tell);
    return () => {
      listeners.delete(tell);
      if (listeners.size > 0) return;
      close();
      watched.delete(realPath);
    };
  }

  function openStream(realPath: string, signal: AbortSignal): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    let end = () => {};
    return new ReadableStream({
      start(controller) {
        const tell: Tell = (text) => {
          // Who does not read hears of one change and not of a thousand.
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text));
        };
        const leave = listen(realPath, tell);
        const beat = setInterval(() => tell(":\n\n"), BEAT_MS);
        end = () => {
          if (!ends.delete(end)) return;
          clearInterval(beat);
          leave();
          signal.removeEventListener("abort", stop);
        };
        const stop = () => {
          end();
          controller.close();
        };
        ends.add(end);
        signal.addEventListener("abort", stop);
        tell("retry: 3000\n\n");
      },
      cancel: () => end(),
    }, { highWaterMark: 16 });
  }

  return {
    answer(request, segments) {
      if (ends.size >= MAX_LISTENERS) {
        throw new HttpError(503, "too_many_listeners", "Too many visitors listen for changes.", {
          headers: { "retry-after": "60" },
        });
      }
      const folder = root.openFolder(segments);
      const realPath = path.join(root.path, ...folder.segments);
      folder.close();
      const headers = {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      };
      const body = request.method === "HEAD" ? null : openStream(realPath, request.signal);
      return Promise.resolve(new Response(body, { headers }));
    },
    close() {
      for (const end of [...ends]) end();
    },
  };
}

function watchFolder(realPath: string): Watched {
  const listeners = new Set<Tell>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tellAll = () => {
    timer = undefined;
    for (const tell of listeners) tell("event: change\ndata:\n\n");
  };
  const watcher = openWatcher(realPath, () => timer ??= setTimeout(tellAll, GATHER_MS));
  return {
    listeners,
    close() {
      clearTimeout(timer);
      watcher?.close();
    },
  };
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
