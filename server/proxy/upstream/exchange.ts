import { AnswerBody } from "./answer_body.ts";
import { readAnswerHead } from "./answer_head.ts";
import { toUpstreamError } from "./errors.ts";
import { isSmall, writeRequest } from "./request_writer.ts";
import { ConnectionBroken, type TargetConnection } from "./target_connection.ts";
import type { UpstreamAnswer, UpstreamRequest } from "./types.ts";

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
  connection: TargetConnection,
  request: UpstreamRequest,
  release: (connection: TargetConnection) => void,
): Promise<Omit<UpstreamAnswer, "dnsMs" | "connectMs">> {
  const { ending, method } = request;
  ending.onEnd(() => connection.close());
  if (ending.reason) connection.close();
  const sending = startSending(connection, request);
  try {
    const { head, statusText, headers, keepMs } = await readAnswerHead(connection, method);
    connection.keepMs = keepMs;
    // It is on its way, and unless that is known the connection cannot be used again.
    if (isSmall(request.body)) await sending.finished;
    const body = new AnswerBody({
      connection,
      head,
      explain: (error) => ending.reason ?? toUpstreamError(sending.failure ? sending.failure.error : error),
      onEnd(reusable) {
        ending.onEnd(null);
        // What is left of a request would be read as the next one.
        if (reusable && sending.isDone) release(connection);
        else connection.close();
      },
    });
    const hasBody = method !== "HEAD" && head.status !== 204 && head.status !== 304;
    return { status: head.status, statusText, headers, body, hasBody };
  } catch (error) {
    connection.close();
    throw sending.failure ? sending.failure.error : error;
  }
}

/** An answer may come before the request has been sent, and may refuse the rest of it: nobody waits for the sending. */
function startSending(connection: TargetConnection, request: UpstreamRequest): Sending {
  const finished = writeRequest(connection, request).then(() => {
    sending.isDone = true;
  }, (error) => {
    // A target that takes no more may have answered all the same. What cannot be sent gets no answer.
    if (error instanceof ConnectionBroken) return;
    sending.failure = { error };
    connection.close();
  });
  const sending: Sending = { finished, isDone: false, failure: null };
  return sending;
}
