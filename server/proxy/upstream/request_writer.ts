import { Buffer } from "node:buffer";
import { BodyGatherer } from "./body_gatherer.ts";
import { chooseFraming, serializeHead } from "./request_head.ts";
import type { TargetConnection } from "./target_connection.ts";
import type { UpstreamRequest } from "./types.ts";

const SMALL_BODY = 16 * 1024;

/** Whether a request goes out in one write, head and body. */
export function isSmall(body: UpstreamRequest["body"]): boolean {
  return body === null || (body instanceof Uint8Array && body.byteLength <= SMALL_BODY);
}

/** The body is not as long as its Content-Length says: sending it would put the next request out of step. */
export class BodyLengthError extends Error {
  override name = "BodyLengthError";
}

/**
 * Writes a request's head, and its body as it is produced.
 * @throws HttpError for what cannot be written at all, BodyLengthError, ConnectionBroken, or what the body throws
 */
export async function writeRequest(connection: TargetConnection, request: UpstreamRequest): Promise<void> {
  const { body } = request;
  const framing = chooseFraming(request);
  const head = serializeHead(request, framing);
  if (body === null) return await connection.write(head);
  if (body instanceof Uint8Array) {
    if (isSmall(body)) return await connection.write(Buffer.concat([head, body]));
    await connection.write(head);
    return await connection.write(body);
  }
  await connection.write(head);
  const gatherer = new BodyGatherer(connection, framing === "chunked");
  const exact = framing !== "chunked" && framing !== "none" ? expectLength(body, framing.length) : body;
  for await (const piece of exact) await gatherer.take(piece);
  await gatherer.finish();
}

async function* expectLength(body: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array> {
  let left = length;
  for await (const piece of body) {
    left -= piece.byteLength;
    if (left < 0) throw new BodyLengthError("the body is longer than announced");
    yield piece;
  }
  if (left > 0) throw new BodyLengthError("the body is shorter than announced");
}
