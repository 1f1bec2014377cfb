import type { OriginReader } from "../../common/forwarded.ts";
import { errorResponse } from "../../common/http_error.ts";
import { describeError, type Logger } from "../../common/log.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";
import type { Authenticate } from "../access/mod.ts";
import type { Arrivals } from "../cluster/mod.ts";
import type { ApiArea, Area } from "../face/mod.ts";
import type { Store } from "../store/mod.ts";
import { createViewsApi } from "./api/routes.ts";
import { Tails } from "./desk/tails.ts";
import { ViewDesk } from "./desk/view_desk.ts";
import { CaptureCounter, type CaptureFigures } from "./figures.ts";
import { Committer } from "./receive/committer.ts";
import { HeldBytes } from "./receive/held_bytes.ts";
import { KnownViews } from "./receive/known_views.ts";
import { createReceiver } from "./receive/receiver.ts";
import { captureAgain } from "./replay/capture_again.ts";
import { Replayer, type SendRequest } from "./replay/replayer.ts";

/** What request views need of the server, and their limits. */
export interface CapturesOptions {
  store: Pick<Store, "views" | "captures">;
  arrivals: Arrivals;
  authenticate: Authenticate;
  log: Logger;
  readOrigin: OriginReader;
  /** Where calls are sent to, without a slash at the end. */
  apiUrl: string;
  /** Where HQ is, likewise. */
  hqUrl: string;
  /** Of one call. */
  maxBodyBytes: number;
  /** Of one view, and what it may be set to at most. */
  maxCaptures: number;
  maxViewBytes: number;
  retentionDays: number;
  /** Of one account. */
  maxViews: number;
  /** Calls a minute. */
  perView: number;
  perAddress: number;
  /** Bytes of all calls together that wait in memory for the disk. */
  maxHeldBytes: number;
  /** Sends captures to where members want them again. */
  send: SendRequest;
  /** How often members of one account may have one sent again, a minute; 0 for never. */
  replaysPerMinute: number;
  now?: () => number;
}

/** The part of a server that captures calls and tells of them. */
export interface CapturesArea extends Area {
  api: ApiArea;
  /** What members may do, for pages. */
  desk: ViewDesk;
  /** What became of calls since the server began. */
  readFigures(): CaptureFigures;
}

const SWEEP_MS = 60_000;
/** No upload takes longer; what is left of one is older. */
const UPLOAD_MS = 24 * 60 * 60 * 1000;

/** The area of request views: where calls arrive, and what members do with them. Whoever creates it closes it. */
export function createCaptures(options: CapturesOptions): CapturesArea {
  const { store, arrivals, log, perView, perAddress, now = Date.now } = options;
  const counter = new CaptureCounter();
  const committer = new Committer({
    store: counter.watch(store.captures),
    maxViewBytes: options.maxViewBytes,
    onKept(viewIds) {
      for (const id of viewIds) arrivals.announce(id);
    },
  });
  const known = new KnownViews(store.views, now);
  const tails = new Tails(store.captures, arrivals);
  const onChanged = (id: string) => known.forget(id);
  const desk = new ViewDesk({
    ...options,
    tails,
    replayer: new Replayer({ ...options, perMinute: options.replaysPerMinute }),
    captureAgain: (capture) =>
      captureAgain(capture, {
        committer,
        readPiece: (bodyId, number) => store.captures.readPiece(bodyId, number),
        giveUp: (bodyId) => void store.captures.removeUpload(bodyId).catch(noteFault),
        now,
      }),
    onChanged,
    now,
  });
  const receiver = createReceiver({
    ...options,
    known,
    store: store.captures,
    committer,
    held: new HeldBytes(options.maxHeldBytes),
    perView: createRateLimiter({ burst: perView, perMinute: perView }),
    perAddress: createRateLimiter({ burst: perAddress, perMinute: perAddress }),
    onFault: noteFault,
    now,
  });
  function noteFault(error: unknown): void {
    log.warn("captures_not_removed", { reason: describeError(error) });
  }
  let sweeping = Promise.resolve();
  const sweeper = setInterval(() => {
    sweeping = sweeping.then(() => store.captures.sweep(now(), now() - UPLOAD_MS)).catch(noteFault);
  }, SWEEP_MS);
  return {
    faces: [{
      ...receiver,
      refuse(error, exchange) {
        counter.refuse(error);
        return receiver.refuse?.(error, exchange) ?? errorResponse(error, null);
      },
    }],
    api: createViewsApi(desk, options.authenticate),
    desk,
    readFigures: () => counter.read({ kept: committer.kept, tails: tails.count }),
    // Streams have no end of their own to wait for.
    drain: () => Promise.resolve(tails.close()),
    async close() {
      clearInterval(sweeper);
      tails.close();
      await committer.flush();
      await sweeping;
    },
  };
}
