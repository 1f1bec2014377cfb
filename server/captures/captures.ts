import type { OriginReader } from "../../net/forwarded.ts";
import { errorResponse } from "../../common/http_error.ts";
import { describeError, type Logger } from "../../common/log.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";
import { type Authenticate, type Ended, OpenStreams } from "../access/mod.ts";
import type { Arrivals } from "../cluster/mod.ts";
import type { ApiArea, Area, Handler } from "../http/mod.ts";
import type { Store } from "../store/mod.ts";
import { createViewsApi } from "./api/routes.ts";
import { Tails } from "./service/tails.ts";
import { ViewService } from "./service/view_service.ts";
import { CaptureCounter, type CaptureFigures } from "./figures.ts";
import { Committer } from "./receive/committer.ts";
import { HeldBytes } from "./receive/read_body.ts";
import { KnownViews } from "./receive/known_views.ts";
import { createReceiver } from "./receive/receiver.ts";
import { captureAgain } from "./replay/capture_again.ts";
import { Replayer, type ReplayerOptions } from "./replay/replayer.ts";

/** Dependencies on the server, and limits. */
export interface CapturesOptions extends Pick<ReplayerOptions, "send" | "note"> {
  store: Pick<Store, "views" | "captures">;
  arrivals: Arrivals;
  authenticate: Authenticate;
  /** Subscribes to permissions that end. */
  onEnded(listener: (ended: Ended) => void): void;
  log: Logger;
  readOrigin: OriginReader;
  /** The URL that receives calls, without a slash at the end. */
  apiUrl: string;
  /** HQ's URL, without a slash at the end. */
  hqUrl: string;
  /** Bytes per call. */
  maxBodyBytes: number;
  /** Captures per view: the default and the maximum. */
  maxCaptures: number;
  maxViewBytes: number;
  retentionDays: number;
  /** Views per account. */
  maxViews: number;
  /** Calls per minute. */
  perView: number;
  perAddress: number;
  /** Bytes that all calls together may hold in memory while the disk is busy. */
  maxHeldBytes: number;
  /** Replays per account and minute; 0 disables replays. */
  replaysPerMinute: number;
  now?: () => number;
}

/** The area that captures calls and serves them. */
export interface CapturesArea extends Area {
  api: ApiArea;
  /** The service behind HQ's pages. */
  service: ViewService;
  /** Returns counters since the server started. */
  readFigures(): CaptureFigures;
}

const SWEEP_MS = 60_000;
/** No upload takes longer. Older remains are removed. */
const UPLOAD_MS = 24 * 60 * 60 * 1000;
/** How long a deleted capture can be restored. */
const RESTORABLE_MS = 10 * 60 * 1000;

/** Creates the area, which receives calls and serves members. The caller closes it. */
export function createCaptures(options: CapturesOptions): CapturesArea {
  return new Captures(options);
}

class Captures implements CapturesArea {
  readonly handlers: readonly Handler[];
  readonly api: ApiArea;
  readonly service: ViewService;
  readonly #options: CapturesOptions;
  readonly #now: () => number;
  readonly #counter = new CaptureCounter();
  readonly #committer: Committer;
  readonly #streams = new OpenStreams();
  readonly #tails: Tails;
  readonly #known: KnownViews;
  readonly #sweeper: ReturnType<typeof setInterval>;
  #sweeping = Promise.resolve();

  constructor(options: CapturesOptions) {
    const { store, arrivals, authenticate, now = Date.now } = options;
    this.#options = options;
    this.#now = now;
    this.#committer = new Committer({
      store: this.#counter.watch(store.captures),
      maxViewBytes: options.maxViewBytes,
      onKept(viewIds) {
        for (const id of viewIds) arrivals.announce(id);
      },
    });
    this.#known = new KnownViews(store.views, now);
    options.onEnded((ended) => this.#streams.end(ended));
    this.#tails = new Tails(store.captures, arrivals, this.#streams);
    this.service = this.#createService();
    this.handlers = [this.#createHandler()];
    this.api = createViewsApi(this.service, authenticate);
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS);
  }

  #createService(): ViewService {
    const options = this.#options, { captures } = options.store;
    const again = {
      committer: this.#committer,
      readChunk: (bodyId: string, number: number) => captures.readChunk(bodyId, number),
      giveUp: (bodyId: string) => void captures.removeUpload(bodyId).catch(this.#logFailure),
      now: this.#now,
    };
    return new ViewService({
      ...options,
      tails: this.#tails,
      streams: this.#streams,
      replayer: new Replayer({ ...options, perMinute: options.replaysPerMinute }),
      captureAgain: (capture) => captureAgain(capture, again),
      onChanged: (id) => this.#known.forget(id),
      now: this.#now,
    });
  }

  #createHandler(): Handler {
    const { store, perView, perAddress, maxHeldBytes } = this.#options;
    const receiver = createReceiver({
      ...this.#options,
      known: this.#known,
      store: store.captures,
      committer: this.#committer,
      held: new HeldBytes(maxHeldBytes),
      perView: createRateLimiter({ burst: perView, perMinute: perView }),
      perAddress: createRateLimiter({ burst: perAddress, perMinute: perAddress }),
      onFailure: this.#logFailure,
      now: this.#now,
    });
    return {
      ...receiver,
      refuse: (error, exchange) => {
        this.#counter.refuse(error);
        return receiver.refuse?.(error, exchange) ?? errorResponse(error, null);
      },
    };
  }

  readonly #logFailure = (error: unknown): void => {
    this.#options.log.warn("captures_not_removed", { reason: describeError(error) });
  };

  #sweep(): void {
    const { captures } = this.#options.store, now = this.#now;
    this.#sweeping = this.#sweeping.then(() => captures.sweep(now(), now() - UPLOAD_MS, now() - RESTORABLE_MS)).catch(
      this.#logFailure,
    );
  }

  readFigures(): CaptureFigures {
    return this.#counter.read({ kept: this.#committer.kept, tails: this.#tails.count });
  }

  drain(): Promise<void> {
    // Streams never end by themselves, so draining does not wait for them.
    return Promise.resolve(this.#tails.close());
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#tails.close();
    await this.#committer.flush();
    await this.#sweeping;
  }
}
