import { HttpError } from "../../common/http_error.ts";
import type { AlarmClock } from "./alarm_clock.ts";

export interface PauseOptions {
  clock: AlarmClock;
  /** Milliseconds that may pass between two chunks. */
  idleMs: number;
}

/** A body that is given up when it stalls. */
export interface WatchedBody {
  /** @throws HttpError 408 `request_timeout` */
  chunks: AsyncGenerator<Uint8Array>;
  /** From now on pauses may be of any length, as somebody else watches. */
  stop(): void;
}

/** Watches for pauses in a body that is read to be kept. Whoever calls it calls `stop`. */
export function watchPauses(body: ReadableStream<Uint8Array>, { clock, idleMs }: PauseOptions): WatchedBody {
  const reader = body.getReader();
  let failure: HttpError | null = null;
  const alarm = clock.set(idleMs, () => {
    failure = new HttpError(408, "request_timeout", `Nothing more of the description came within ${idleMs} ms.`, {
      headers: { connection: "close" },
    });
    // It ends the read under way. A body that fails by itself at that moment has nobody left to tell.
    reader.cancel(failure).catch(() => {});
  });

  async function* read(): AsyncGenerator<Uint8Array> {
    let isWhole = false;
    try {
      while (true) {
        const { done, value } = await reader.read();
        if (failure !== null) throw failure;
        isWhole = done;
        if (done) return;
        clock.postpone(alarm, idleMs);
        yield value;
      }
    } finally {
      clock.clear(alarm);
      if (!isWhole) await reader.cancel();
    }
  }

  return { chunks: read(), stop: () => clock.clear(alarm) };
}
