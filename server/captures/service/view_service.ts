import { Buffer } from "node:buffer";
import type { CaptureJson, ReplayedJson } from "../../../common/captures/capture_json.ts";
import { BodyCut } from "../../../net/listener/mod.ts";
import { checkInput } from "../../http/mod.ts";
import { type OpenStreams, type Principal, requireScope } from "../../access/mod.ts";
import { type Capture, type OpenedCapture, type Store, TooManyViews, type View } from "../../store/mod.ts";
import { noSuchCapture, noSuchView, tooManyViews } from "../errors.ts";
import { DEFAULT_RESPONSE } from "../receive/response.ts";
import type { Replayer } from "../replay/replayer.ts";
import { describeCapture, type DescribedView, describeOpened, describeViewRecord, type ViewUrls } from "./describe.ts";
import { beginDecoded, type BegunBody } from "./decoded_body.ts";
import { type CapturePage, type CaptureSearch, type CaptureTextFilter, searchCaptures } from "./search.ts";
import type { Tails } from "./tails.ts";
import { type CaptureEdit, newViewInput, replayInput, viewChangesInput } from "./view_input.ts";

/** Dependencies and limits for members' changes. */
export interface ViewServiceOptions extends ViewUrls {
  store: Pick<Store, "views" | "captures">;
  tails: Tails;
  streams: OpenStreams;
  replayer: Replayer;
  /** Stores a call again and returns its cursor. @throws HttpError 404 when the view or capture was deleted */
  captureAgain(capture: OpenedCapture): Promise<number>;
  /** Called after a view was changed or deleted. */
  onChanged(id: string): void;
  /** Views per account. */
  maxViews: number;
  /** A view's default, which is also its maximum. */
  maxCaptures: number;
  retentionDays: number;
  now(): number;
}

/** Captures that one transaction removes. */
const REMOVED_AT_ONCE = 100;

/** The caller; null without a login. */
export type Caller = Principal | null;

/**
 * The operations on an account's views. Every method throws HttpError: 401 and 403 as `requireScope` does, and 404
 * `view_not_found` for missing views and other accounts' views.
 */
export class ViewService {
  readonly #options: ViewServiceOptions;

  constructor(options: ViewServiceOptions) {
    this.#options = options;
  }

  /** Lists the account's views, oldest first. */
  async list(caller: Caller): Promise<DescribedView[]> {
    const { account } = requireScope(caller, "views:read");
    const views = await this.#options.store.views.list(account.id);
    return views.map((view) => describeViewRecord(view, this.#options));
  }

  /** Creates a view. @throws HttpError also 400 for invalid input, 403 `too_many_views` */
  async create(caller: Caller, input: unknown): Promise<DescribedView> {
    const { account } = requireScope(caller, "views:write");
    const { store, maxViews, maxCaptures, retentionDays, now } = this.#options;
    const { name } = checkInput(newViewInput, input);
    const view = {
      id: crypto.randomUUID(),
      accountId: account.id,
      name: name ?? null,
      createdAt: now(),
      answer: DEFAULT_RESPONSE,
      retentionDays,
      maxCaptures,
    };
    try {
      return describeViewRecord(await store.views.insert(view, maxViews), this.#options);
    } catch (error) {
      throw error instanceof TooManyViews ? tooManyViews(maxViews) : error;
    }
  }

  /** Returns a view. @throws HttpError 401, 403 `scope_missing`, 404 */
  async get(caller: Caller, id: string): Promise<DescribedView> {
    return describeViewRecord(await this.#find(requireScope(caller, "views:read"), id), this.#options);
  }

  /** Changes a view. @throws HttpError also 400 for invalid input */
  async change(caller: Caller, id: string, input: unknown): Promise<DescribedView> {
    const before = await this.#find(requireScope(caller, "views:write"), id);
    const { answer, ...changes } = checkInput(viewChangesInput(this.#options), input);
    const changed = answer === undefined ? changes : { ...changes, answer: { ...before.answer, ...answer } };
    const view = await this.#options.store.views.change(before.id, changed);
    this.#options.onChanged(before.id);
    if (view === null) throw noSuchView();
    return describeViewRecord(view, this.#options);
  }

  /** Deletes a view with its captures. */
  async remove(caller: Caller, id: string): Promise<void> {
    const { id: viewId } = await this.#find(requireScope(caller, "views:write"), id);
    await this.#options.store.views.remove(viewId);
    this.#options.onChanged(viewId);
    this.#options.tails.endView(viewId);
  }

  /** Returns one page of captures. */
  async search(
    caller: Caller,
    id: string,
    search: CaptureSearch,
  ): Promise<{ captures: CaptureJson[]; next: number | null }> {
    const { id: viewId } = await this.#find(requireScope(caller, "views:read"), id);
    const { captures, next } = await searchCaptures(this.#options.store.captures, viewId, search);
    return { captures: captures.map(search.withBodies ? describeAny : describeCapture), next };
  }

  /** Returns a capture. @throws HttpError also 404 `capture_not_found` */
  async getCapture(caller: Caller, id: string, captureId: string): Promise<OpenedCapture> {
    return (await this.#open(requireScope(caller, "views:read"), id, captureId)).capture;
  }

  /**
   * Sends a capture from this server to the URL in the input. Without a URL the view captures the call again.
   * @param signal aborts when the caller disconnects
   * @throws HttpError also 404 `capture_not_found`, 400 and 403 for a refused URL, 403 `replay_off`, 429 at the rate
   * limit, and 502 and 504 for a failed request
   */
  async replay(
    caller: Caller,
    id: string,
    captureId: string,
    input: unknown,
    signal: AbortSignal,
  ): Promise<{ response: ReplayedJson } | { capture: string }> {
    const { replayer, captureAgain } = this.#options;
    const principal = requireScope(caller, "views:write");
    const { view, capture } = await this.#open(principal, id, captureId);
    const { url: service, edit } = checkInput(replayInput, input);
    const release = replayer.admit(principal.account.id);
    try {
      if (service === undefined || service === null) return { capture: String(await captureAgain(capture)) };
      const sent = edit === undefined ? capture : editCapture(capture, edit);
      const replay = {
        view: view.name,
        capture: sent,
        service,
        body: this.readBody(sent),
        isEdited: edit !== undefined,
      };
      return { response: await replayer.send(principal, replay, signal) };
    } finally {
      release();
    }
  }

  /**
   * Cuts a download off when its reader's permission ends.
   * @throws HttpError 401, 403 `scope_missing`; the iterator throws BodyCut when the permission ends
   */
  async *endWithPermission<T>(caller: Caller, chunks: AsyncIterable<T>): AsyncGenerator<T, void> {
    let isEnded = false;
    const forget = this.#options.streams.add(requireScope(caller, "views:read"), () => isEnded = true);
    try {
      for await (const chunk of chunks) {
        if (isEnded) throw new BodyCut("the reader's permission ended");
        yield chunk;
      }
    } finally {
      forget();
    }
  }

  /** Reads a capture's body in chunks. @throws HttpError 404 when the capture is deleted meanwhile */
  async *readBody({ body, bodyId, bodySize }: OpenedCapture): AsyncGenerator<Uint8Array, void> {
    if (body.length > 0) yield body;
    let left = bodySize - body.length;
    for (let number = 0; bodyId !== null && left > 0; number++) {
      const chunk = await this.#options.store.captures.readChunk(bodyId, number);
      if (chunk === null) throw noSuchCapture();
      yield chunk;
      left -= chunk.length;
    }
  }

  /** Begins to decode a capture's body. @throws HttpError 415 `coding_unknown`, 422 `not_decoded`, 404 */
  async beginDecoded(capture: OpenedCapture): Promise<BegunBody> {
    return await beginDecoded(capture, this.readBody(capture));
  }

  /** Deletes a capture. @throws HttpError also 404 `capture_not_found` */
  async removeCapture(caller: Caller, id: string, captureId: string): Promise<void> {
    const { id: viewId } = await this.#find(requireScope(caller, "views:write"), id);
    const cursor = parseCaptureId(captureId);
    const { store, now } = this.#options;
    if (cursor === null || !await store.captures.setAside(viewId, cursor, now())) throw noSuchCapture();
  }

  /** Restores a capture that {@link removeCapture} deleted some minutes ago. @throws HttpError also 404 */
  async restoreCapture(caller: Caller, id: string, captureId: string): Promise<void> {
    const { id: viewId } = await this.#find(requireScope(caller, "views:write"), id);
    const cursor = parseCaptureId(captureId);
    if (cursor === null || !await this.#options.store.captures.restore(viewId, cursor)) throw noSuchCapture();
  }

  /** Deletes the captures that match a filter, by default all, up to now. @returns their number */
  async removeCaptures(caller: Caller, id: string, filter: CaptureTextFilter = {}): Promise<number> {
    const { id: viewId, lastCursor } = await this.#find(requireScope(caller, "views:write"), id);
    const { captures: store } = this.#options.store;
    if (Object.values(filter).every((value) => value === undefined)) return await store.removeAll(viewId);
    let removed = 0;
    for (let before: number | null = Math.min(filter.before ?? Infinity, lastCursor + 1); before !== null;) {
      const page: CapturePage = await searchCaptures(store, viewId, { ...filter, before, limit: REMOVED_AT_ONCE });
      removed += await store.removeThese(viewId, page.captures.map(({ cursor }) => cursor));
      before = page.next;
    }
    return removed;
  }

  /**
   * Opens a stream of events with a view's captures.
   * @param authenticate finds the caller; called again while the stream is open
   * @param from the cursor behind which the stream begins, or a time in Unix milliseconds; null to begin now
   */
  async tail(
    authenticate: () => Promise<Caller>,
    id: string,
    from: { after: number } | { since: number } | null,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { tails } = this.#options;
    const check = async () => {
      const principal = requireScope(await authenticate(), "views:read");
      return { principal, view: await this.#find(principal, id) };
    };
    for (;;) {
      const { endings } = tails;
      const { principal, view } = await check();
      const after = from === null
        ? view.lastCursor
        : "after" in from
        ? from.after
        : await this.#options.store.captures.lastBefore(view.id, from.since);
      if (endings !== tails.endings) continue;
      return tails.open({
        principal,
        viewId: view.id,
        after,
        check: async () => void await check(),
      });
    }
  }

  async #open(
    principal: Principal,
    id: string,
    captureId: string,
  ): Promise<{ view: View; capture: OpenedCapture }> {
    const view = await this.#find(principal, id);
    const cursor = parseCaptureId(captureId);
    const capture = cursor === null ? null : await this.#options.store.captures.find(view.id, cursor);
    if (capture === null) throw noSuchCapture();
    return { view, capture };
  }

  async #find({ account }: Principal, id: string): Promise<View> {
    // RFC 9562 allows both cases in a UUID.
    const view = await this.#options.store.views.find(id.toLowerCase());
    if (view === null || view.accountId !== account.id) throw noSuchView();
    return view;
  }
}

const describeAny = (capture: Capture | OpenedCapture) =>
  "body" in capture ? describeOpened(capture) : describeCapture(capture);

/** Parses a capture's id. Cursors begin at 1. */
function parseCaptureId(id: string): number | null {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : null;
}

/** Returns a capture with the parts of an edit. */
function editCapture(capture: OpenedCapture, { method, path, headers, body }: CaptureEdit): OpenedCapture {
  const edited = body === undefined ? null : Buffer.from(body, "base64");
  return {
    ...capture,
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path: `/req/${capture.viewId}${path}` }),
    ...(headers !== undefined && { headers: headers.flat() }),
    ...(edited !== null && { body: edited, bodyId: null, bodySize: edited.length }),
  };
}
