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
import { decodeShown, type ShownBody } from "./capture_body.ts";
import type { CaptureRecord } from "./records.ts";

/** Most response bytes that are kept for display. */
const RESPONSE_BYTES = 16 * 1024;

/** A delivery to a local service. */
export interface DeliverOptions {
  connect: Connect;
  /** The target. Its path and query come before the capture's. */
  service: URL;
  viewId: string;
  capture: CaptureRecord;
  /** The capture's body. */
  body: AsyncIterable<Uint8Array>;
  /** The Host that the service sees; null for the captured one. */
  hostHeader: string | null;
  /** Milliseconds until the response must be complete. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** A service's response to a delivery. */
export interface Delivered {
  status: number;
  statusText: string;
  contentType: string | null;
  body: ShownBody;
  /** The body bytes that were read. */
  size: number;
  durationMs: number;
}

/** The service did not respond. The message is a line for the user. */
export class NotDelivered extends Error {
  override name = "NotDelivered";
}

/**
 * Sends a captured call to a service unchanged: method, path and query below the view, body, and all header fields in
 * order and case, except Host and connection fields.
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
      const response = await exchange(connection, { ...composeRequest(options), ending }, {
        release: (released) => released.close(),
        explain: (error) => error,
      });
      return { ...await readResponse(response), durationMs: performance.now() - startedAt };
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
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let taken = await body.take(); taken !== null; taken = await body.take()) {
    for (const chunk of taken) {
      if (size < RESPONSE_BYTES) chunks.push(chunk.slice());
      size += chunk.length;
    }
  }
  const bytes = Uint8Array.from(Buffer.concat(chunks)).subarray(0, RESPONSE_BYTES);
  const shown = await decodeShown({ bytes, isWhole: size <= RESPONSE_BYTES, size }, headers);
  const contentType = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? null;
  return { status: head.status, statusText, contentType, body: shown, size };
}

function explainFailure(error: unknown, service: URL, ending: Ending, { id }: CaptureRecord): NotDelivered {
  const reason = ending.reason?.message ??
    (error instanceof ConnectError || error instanceof ResponseSyntaxError ? error.message : describeError(error));
  return new NotDelivered(`Capture ${id} was not delivered to ${service.origin}: ${reason}`, { cause: error });
}
