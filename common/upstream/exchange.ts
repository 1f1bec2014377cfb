import { AnswerBody, type AnswerHead, readAnswerHead } from "./answer.ts";
import type { UpstreamConnection } from "./connection.ts";
import { isSmall, writeRequest } from "./request.ts";
import { ConnectionBroken, type OutgoingRequest } from "./types.ts";

/** An answer whose body has not been read yet. */
export interface UpstreamAnswer extends AnswerHead {
  /** Of no bytes after 101: the connection is the caller's then, to detach and close. */
  readonly body: AnswerBody;
}

/** Who takes the connection back, and who puts errors into words. */
export interface ExchangeOptions {
  /** Takes the connection back when the answer has been read to its end and it can carry another request. */
  release(connection: UpstreamConnection): void;
  /** Turns what ended the body early into what its reader is told. */
  explain(error: unknown): unknown;
}

/** What became of sending the request. */
interface Sending {
  /** Resolves when it is done, or has failed. */
  readonly finished: Promise<void>;
  isDone: boolean;
  /** Why there is no point in an answer any more. */
  failure: { error: unknown } | null;
}

/**
 * Sends a request on a connection and reads the head of its answer. The connection is this request's until the body of
 * the answer has ended: it is released then, or closed where it cannot carry another request.
 * @throws NoAnswer when not a byte of an answer came, or what else went wrong
 */
export async function exchange(
  connection: UpstreamConnection,
  request: OutgoingRequest,
  { release, explain }: ExchangeOptions,
): Promise<UpstreamAnswer> {
  const { ending } = request;
  ending.onEnd(() => connection.close());
  if (ending.reason) connection.close();
  const sending = startSending(connection, request);
  try {
    const answer = await readAnswerHead(connection, request);
    const { head, statusText, headers, keepMs } = answer;
    connection.keepMs = keepMs;
    // It is on its way, and unless that is known the connection cannot be used again.
    if (isSmall(request.body)) await sending.finished;
    const body = new AnswerBody({
      connection,
      head,
      explain: (error) => ending.reason ?? explain(sending.failure ? sending.failure.error : error),
      onEnd(reusable) {
        if (head.framing === "upgrade") return;
        ending.onEnd(null);
        // What is left of a request would be read as the next one.
        if (reusable && sending.isDone) release(connection);
        else connection.close();
      },
    });
    return { head, statusText, headers, keepMs, body };
  } catch (error) {
    connection.close();
    throw sending.failure ? sending.failure.error : error;
  }
}

/** An answer may come before the request has been sent, and may refuse the rest of it: nobody waits for the sending. */
function startSending(connection: UpstreamConnection, request: OutgoingRequest): Sending {
  const finished = writeRequest(connection, request).then(() => {
    sending.isDone = true;
  }, (error) => {
    // An upstream that takes no more may have answered all the same. What cannot be sent gets no answer.
    if (error instanceof ConnectionBroken) return;
    sending.failure = { error };
    connection.close();
  });
  const sending: Sending = { finished, isDone: false, failure: null };
  return sending;
}
