import { Buffer } from "node:buffer";
import { networkOf, type OriginReader } from "../../../net/forwarded.ts";
import { errorResponse, loopDetected } from "../../../common/http_error.ts";
import { BodyCut, type Exchange } from "../../../net/listener/mod.ts";
import type { RateLimiter } from "../../../common/rate_limiter.ts";
import { VIA_FIELD } from "../../../common/captures/replay_request.ts";
import type { Answer, Handler } from "../../http/mod.ts";
import type { Captures } from "../../store/mod.ts";
import { noSuchView, tooManyCalls } from "../errors.ts";
import type { CapturedCall } from "./call_values.ts";
import { respondToCall } from "./response.ts";
import type { Committer } from "./committer.ts";
import { BodyReader, checkAnnounced, type HeldBytes } from "./read_body.ts";
import type { KnownViews } from "./known_views.ts";

/** Dependencies and limits for receiving calls. */
export interface ReceiverOptions {
  known: KnownViews;
  store: Pick<Captures, "removeUpload">;
  committer: Committer;
  held: HeldBytes;
  readOrigin: OriginReader;
  perView: RateLimiter;
  perAddress: RateLimiter;
  maxBodyBytes: number;
  /** Called when removing leftovers failed. */
  onFailure(error: unknown): void;
  now(): number;
}

const PATH = /^\/req\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=[/?]|$)/i;
/** The field with the views that a delivered capture passed. Each delivery adds its view. */
const VIA_HEADER = VIA_FIELD.toLowerCase();

/** Captures every request to `/req/<view>`, with any method and any path below. */
export function createReceiver(options: ReceiverOptions): Handler {
  return {
    prefix: "/req",
    handle(exchange) {
      if (!/^\/req(?:[/?]|$)/.test(exchange.path)) return undefined;
      return receive(exchange, options);
    },
    // Clients are programs, so errors are never pages.
    refuse: (error) => errorResponse(error, null),
  };
}

async function receive(exchange: Exchange, options: ReceiverOptions): Promise<Answer> {
  const id = PATH.exec(exchange.path)?.[1].toLowerCase();
  const { address } = options.readOrigin(exchange);
  checkRate(options.perAddress, networkOf(address), "from this address");
  const view = id === undefined ? null : options.known.recall(id) ?? await options.known.load(id);
  if (view === null) throw noSuchView();
  checkRate(options.perView, view.id, "to this view");
  checkCircle(exchange, view.id);
  checkAnnounced(exchange, options.maxBodyBytes);
  const call = await keepCall(exchange, view.id, address, options);
  return call === null ? null : await respondToCall(exchange, view.response, call);
}

/** Stores a call. @returns null when the client disconnected before the end @throws HttpError */
async function keepCall(
  exchange: Exchange,
  viewId: string,
  address: string,
  options: ReceiverOptions,
): Promise<CapturedCall | null> {
  const receivedAt = options.now();
  const reader = new BodyReader({ ...options, maxBytes: options.maxBodyBytes });
  try {
    const { start, bodyId, size } = await reader.read(exchange);
    const { method, path, host, httpVersion, rawHeaders: headers } = exchange;
    const contentType = exchange.header("content-type");
    const cursor = await options.committer.keep({
      viewId,
      receivedAt,
      method,
      path,
      host,
      httpVersion,
      headers,
      trailers: parseTrailers(exchange.trailers),
      address,
      contentType,
      body: start,
      bodySize: size,
      bodyId,
    });
    if (cursor === null) throw noSuchView();
    return { cursor, method, path, headers, contentType, body: start };
  } catch (error) {
    // Removal runs in the background. The sweep removes leftovers after a failure.
    if (reader.bodyId !== null) void options.store.removeUpload(reader.bodyId).catch(options.onFailure);
    if (error instanceof BodyCut) return null;
    throw error;
  } finally {
    reader.release();
  }
}

/** Returns trailer fields as alternating names and values. */
function parseTrailers(lines: Uint8Array): string[] {
  if (lines.length === 0) return [];
  const text = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength).toString("latin1");
  return text.split("\r\n").flatMap((line) => {
    const colon = line.indexOf(":");
    return colon <= 0 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
}

function checkRate(limiter: RateLimiter, key: string, of: string): void {
  const waitMs = limiter.take(key);
  if (waitMs > 0) throw tooManyCalls(waitMs, of);
}

/** Refuses a capture that is delivered to its own view, which would loop forever. */
function checkCircle(exchange: Exchange, viewId: string): void {
  const via = exchange.header(VIA_HEADER);
  if (via === null || !via.toLowerCase().includes(viewId)) return;
  throw loopDetected(`This call is a capture of view ${viewId}, delivered to that view again.`);
}
