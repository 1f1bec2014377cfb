import { Buffer } from "node:buffer";
import { giveBackTaken } from "../../../net/body/chunk_memory.ts";
import { type ResponseHead, ResponseSyntaxError } from "../../../net/http1/mod.ts";
import { ConnectionBroken, ResponseBody, type UpstreamConnection } from "../../../net/upstream/mod.ts";
import { MAX_HEAD, type RequestStream, StreamEnded } from "../../../protocol/mod.ts";
import { dropDigests, type RewrittenHead } from "./response_head.ts";
import type { ContentEncoding } from "../../../net/body/content_encoding.ts";
import { recode } from "./recode.ts";
import type { RewrittenExchange, RewrittenResponse } from "./rewriting.ts";

const NOTHING = new Uint8Array(0);

/** A response that is being rewritten, with its source. */
export interface RewritingResponse {
  readonly stream: RequestStream;
  readonly connection: UpstreamConnection;
  readonly head: ResponseHead;
  readonly exchange: RewrittenExchange;
  readonly rewritten: RewrittenResponse & { readonly coding: ContentEncoding | "identity" };
}

/**
 * Sends a response in one frame with its new length, if it is complete and may be sent now.
 * @returns whether it was sent; otherwise call {@link pumpRewritten}
 */
export function sendRewritten({ stream, connection, head, exchange, rewritten }: RewritingResponse): boolean {
  if (!connection.isWhole(head)) return false;
  const original = connection.buffer.subarray(head.end, head.end + head.length);
  if (original.length > 0 && rewritten.coding !== "identity") return false;
  const rewriter = exchange.createRewriter(rewritten.head.contentType);
  const body = Buffer.concat([rewriter.push(original), rewriter.end()]);
  if (body.length > stream.room) return false;
  rewritten.head.describeRewritten(head.framing === "length" ? body.length : null);
  const block = serialize(rewritten.head);
  stream.respond(head.status, block, 0, block.length, body, 0, body.length, true);
  return true;
}

/**
 * Carries a response into its stream, rewritten as it arrives. Its final length is unknown.
 * @returns whether the connection can carry another request
 * @throws ConnectionBroken, ResponseSyntaxError, StreamEnded
 */
export async function pumpRewritten(answer: RewritingResponse): Promise<boolean> {
  const { stream, connection, head, rewritten } = answer;
  rewritten.head.describeRewritten(null);
  const block = serialize(rewritten.head);
  if (stream.room === 0) await stream.whenRoom();
  stream.respond(head.status, block, 0, block.length, NOTHING, 0, 0, false);
  let isClean = false;
  connection.start = head.end;
  const body = new ResponseBody({ connection, head, onEnd: (reusable) => isClean = reusable, explain: explainBroken });
  try {
    await pumpBody(answer, body);
  } finally {
    body.cancel();
  }
  stream.end(dropDigests(body.trailers));
  return isClean;
}

async function pumpBody(
  { stream, connection, exchange, rewritten }: RewritingResponse,
  body: ResponseBody,
): Promise<void> {
  const rewriter = exchange.createRewriter(rewritten.head.contentType), { coding } = rewritten;
  if (coding === "identity") {
    for await (const piece of giveBackTaken(readPieces(body))) {
      const ready = rewriter.push(piece);
      if (ready.length > 0) await stream.write(ready);
    }
    return await stream.write(rewriter.end());
  }
  // Close at once, because more bytes for a broken body may take long to arrive.
  const recoding = { coding, rewriter, onBroken: () => connection.close() };
  await recode(readPieces(body), recoding, (bytes) => stream.write(bytes)).catch((error) => {
    throw isKnown(error) ? error : new ConnectionBroken(`what it sends is not ${coding}`, { cause: error });
  });
}

/** Bytes per search: longer texts cost the garbage collector more than the search. */
const SLICE = 64 * 1024;

async function* readPieces(body: ResponseBody): AsyncGenerator<Uint8Array, void> {
  for (let pieces = await body.take(); pieces !== null; pieces = await body.take()) {
    for (const piece of pieces) for (let at = 0; at < piece.length; at += SLICE) yield piece.subarray(at, at + SLICE);
  }
}

function serialize(head: RewrittenHead): Uint8Array {
  const block = head.toBytes();
  if (block.length > MAX_HEAD) throw new ResponseSyntaxError("the head is too large");
  return block;
}

const isKnown = (error: unknown) =>
  error instanceof StreamEnded || error instanceof ConnectionBroken || error instanceof ResponseSyntaxError;

function explainBroken(error: unknown): unknown {
  return isKnown(error)
    ? error
    : new ConnectionBroken("it closed the connection before its response was complete", { cause: error });
}
