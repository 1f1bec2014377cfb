import { Buffer } from "node:buffer";
import { parseResponseHead, type ResponseHead } from "../../protocol/mod.ts";
import { createDialer, type Guard } from "../guard/mod.ts";
import { AnswerBody, AnswerCut } from "./answer_body.ts";
import { ConnectionPool } from "./connection_pool.ts";
import { writeRequest } from "./request_writer.ts";
import { TargetConnection } from "./target_connection.ts";
import { toUpstreamError } from "./upstream_error.ts";

/** One request to one target; redirects are answers here. */
export interface UpstreamRequest {
  method: string;
  url: URL;
  headers: readonly (readonly [string, string])[];
  /** A sequence is sent as it is produced: chunked, unless the headers give its Content-Length. */
  body: Uint8Array | AsyncIterable<Uint8Array> | null;
  ending: Ending;
}

/** Who may end a request, and the body of its answer, early. */
export interface Ending {
  /** Why the request has to end; null while it may go on. */
  readonly reason: Error | null;
  /** Takes the one to call when it has to end. */
  onEnd(end: ((reason: Error) => void) | null): void;
}

export interface UpstreamAnswer {
  status: number;
  statusText: string;
  /** As sent: order, case and duplicates kept. Bytes beyond ASCII are Latin-1. */
  headers: [string, string][];
  body: AnswerBody;
  /** False where a Content-Length speaks of a body that is not sent: HEAD and 304. */
  hasBody: boolean;
  /** 0 for both when an open connection was used again. */
  dnsMs: number;
  connectMs: number;
}

/** Sends requests to targets over connections that the guard has checked. */
export interface Upstream {
  /** Resolves with the head of the answer. Rejects with `HttpError`, or with the reason it had to end for. */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Drops all idle connections. */
  close(): void;
}

export interface UpstreamOptions {
  guard: Guard;
  connectTimeoutMs: number;
  caCerts?: readonly string[];
}

/** Creates the sender with its pool of connections; whoever creates it closes it. */
export function createUpstream({ guard, connectTimeoutMs, caCerts }: UpstreamOptions): Upstream {
  const dial = createDialer({ guard, timeoutMs: connectTimeoutMs, caCerts });
  const pool = new ConnectionPool();

  async function send(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { ending } = request;
    const origin = request.url.origin;
    const explain = (error: unknown) => ending.reason ?? toUpstreamError(error);
    try {
      const kept = pool.take(origin);
      if (kept) {
        try {
          return await exchange(kept, request, 0, 0);
        } catch (error) {
          // A kept connection may die just as it is used again: what can safely be repeated gets a second try.
          if (!(error instanceof NoAnswer) || !isRepeatable(request)) throw error;
        }
      }
      const { connection, dnsMs, connectMs } = await open(request);
      return await exchange(new TargetConnection(connection), request, dnsMs, connectMs);
    } catch (error) {
      ending.onEnd(null);
      throw explain(error);
    }
  }

  async function open({ url, ending }: UpstreamRequest) {
    if (ending.reason) throw ending.reason;
    const abort = new AbortController();
    ending.onEnd((reason) => abort.abort(reason));
    return await dial(url, abort.signal);
  }

  async function exchange(
    connection: TargetConnection,
    request: UpstreamRequest,
    dnsMs: number,
    connectMs: number,
  ): Promise<UpstreamAnswer> {
    const { ending, method, url } = request;
    if (ending.reason) {
      connection.close();
      throw ending.reason;
    }
    ending.onEnd(() => connection.close());
    // An answer may come before the request has been sent, and may refuse the rest of it.
    const sending: Sending = { failure: null, isDone: false };
    const sent = writeRequest(connection, request).then(
      () => sending.isDone = true,
      (error) => {
        sending.failure = { error };
        connection.close();
      },
    );
    const explain = (error: unknown) => ending.reason ?? toUpstreamError(sending.failure?.error ?? error);
    try {
      const head = await readHead(connection, method);
      if (request.body === null) await sent;
      const answer = readAnswer(connection, head);
      const body = new AnswerBody({
        connection,
        head,
        explain,
        onEnd(reusable) {
          ending.onEnd(null);
          if (reusable && sending.isDone) pool.release(url.origin, connection);
          else connection.close();
        },
      });
      return { ...answer, body, hasBody: method !== "HEAD" && head.status !== 304, dnsMs, connectMs };
    } catch (error) {
      connection.close();
      throw sending.failure && !(error instanceof NoAnswer && request.body === null) ? sending.failure.error : error;
    }
  }

  return { send, close: () => pool.close() };
}

interface Sending {
  failure: { error: unknown } | null;
  isDone: boolean;
}

/** The connection ended before a byte of an answer came. */
class NoAnswer extends AnswerCut {
  override name = "NoAnswer";
}

function isRepeatable({ method, body, ending }: UpstreamRequest): boolean {
  return body === null && (method === "GET" || method === "HEAD") && ending.reason === null;
}

/** The final head; those of 1xx before it are passed over. */
async function readHead(connection: TargetConnection, method: string): Promise<ResponseHead> {
  const answered = { method, upgrade: false };
  while (true) {
    const head = parseResponseHead(connection.buffer, connection.start, connection.end, answered);
    if (head?.informational) connection.start = head.end;
    else if (head) return head;
    else if (!await fill(connection)) {
      throw connection.end === 0 ? new NoAnswer("no answer") : new AnswerCut("the head was cut short");
    }
  }
}

async function fill(connection: TargetConnection): Promise<boolean> {
  try {
    return await connection.fill();
  } catch (cause) {
    throw connection.end === 0 ? new NoAnswer("no answer", { cause }) : cause;
  }
}

/** `HTTP/1.1 200 `, after which the reason phrase comes. */
const REASON_AT = 13;

function readAnswer(connection: TargetConnection, head: ResponseHead) {
  const { buffer, start } = connection;
  const text = Buffer.from(buffer.buffer, start, head.fieldsEnd - start).toString("latin1");
  connection.start = head.end;
  const [statusLine, ...lines] = text.split("\r\n");
  const headers: [string, string][] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.push([line.slice(0, colon), line.slice(colon + 1).trim()]);
  }
  return { status: head.status, statusText: statusLine.slice(REASON_AT), headers };
}
