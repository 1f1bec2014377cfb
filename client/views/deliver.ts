import { Buffer } from "node:buffer";
import type { Connect } from "../../net/connection/mod.ts";
import { ConnectError } from "../../net/connection/mod.ts";
import { ResponseSyntaxError } from "../../net/http1/mod.ts";
import { describeError } from "../../common/log.ts";
import { composeReplay } from "../../common/captures/replay_request.ts";
import {
  type Ending,
  exchange,
  serializeRequestHead,
  SignalEnding,
  UpstreamConnection,
  type UpstreamResponse,
} from "../../net/upstream/mod.ts";
import { decodeShown, type ShownBody } from "./shown_body.ts";
import type { CaptureRecord } from "./records.ts";

/** Bytes of an answer that are kept to be shown. */
const ANSWER_BYTES = 16 * 1024;

/** A capture that is sent to a local service, and how. */
export interface DeliverOptions {
  connect: Connect;
  /** Where to; a path in it comes before that of the capture. */
  service: URL;
  viewId: string;
  capture: CaptureRecord;
  /** The bytes of the capture's body. */
  body: AsyncIterable<Uint8Array>;
  /** The Host that the service sees; null: the one that the capture came with. */
  hostHeader: string | null;
  /** Milliseconds until the response must be complete. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** What a service answered to a delivered capture. */
export interface Delivered {
  status: number;
  statusText: string;
  contentType: string | null;
  body: ShownBody;
  /** Bytes of the body that were read. */
  size: number;
  durationMs: number;
}

/** The service gave no answer. The message is a line for the user. */
export class NotDelivered extends Error {
  override name = "NotDelivered";
}

/**
 * Sends a captured call to a service as it came: method, path and query below the view, the body's bytes, and all header
 * fields in their order and case but those of one connection and Host.
 * @throws NotDelivered
 */
export async function deliver(options: DeliverOptions): Promise<Delivered> {
  const { service: target, capture, timeoutMs, signal } = options;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const ending = new SignalEnding(limit, () => new Error(`no response within ${timeoutMs / 1000} s`));
  const startedAt = performance.now();
  try {
    const { hostname, protocol } = target, isTls = protocol === "https:";
    const port = target.port === "" ? (isTls ? 443 : 80) : Number(target.port);
    const tls = isTls ? { allowSelfSigned: true } : undefined;
    const connection = new UpstreamConnection(
      await options.connect({ hostname, port, tls, signal: limit }),
      "",
      () => {},
    );
    try {
      const answer = await exchange(connection, { ...composeRequest(options), ending }, {
        release: (released) => released.close(),
        explain: (error) => error,
      });
      return { ...await readResponse(answer), durationMs: performance.now() - startedAt };
    } finally {
      connection.close();
    }
  } catch (error) {
    throw explainFailure(error, target, ending, capture);
  }
}

function composeRequest(options: DeliverOptions) {
  const { method, url, headers, framing } = composeReplay(options);
  const head = serializeRequestHead({ method, url, headers }, framing);
  return { method, head, framing, body: options.capture.bodySize === 0 ? null : options.body, upgrade: false };
}

async function readResponse(
  { head, statusText, headers, body }: UpstreamResponse,
): Promise<Omit<Delivered, "durationMs">> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let taken = await body.take(); taken !== null; taken = await body.take()) {
    for (const piece of taken) {
      if (size < ANSWER_BYTES) pieces.push(piece.slice());
      size += piece.length;
    }
  }
  const bytes = Uint8Array.from(Buffer.concat(pieces)).subarray(0, ANSWER_BYTES);
  const shown = await decodeShown({ bytes, isWhole: size <= ANSWER_BYTES, size }, headers);
  const contentType = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? null;
  return { status: head.status, statusText, contentType, body: shown, size };
}

function explainFailure(error: unknown, service: URL, ending: Ending, { id }: CaptureRecord): NotDelivered {
  const reason = ending.reason?.message ??
    (error instanceof ConnectError || error instanceof ResponseSyntaxError ? error.message : describeError(error));
  return new NotDelivered(`Capture ${id} was not delivered to ${service.origin}: ${reason}`, { cause: error });
}
