import type { Connect } from "../../net/connection/mod.ts";
import { ApiRefused, explainCallFailure, LoginNeeded, notPortway, parseJsonOrNull, parseRefusal } from "./api_error.ts";
import { call, type HttpCall, type HttpStream, openStream } from "./http_call.ts";
import type { TokenSource } from "./tokens.ts";

/** Bytes of an answer: a page of captures with all their header fields can be some megabytes. */
const MAX_ANSWER = 16 * 1024 * 1024;
/** Of a stream's answer that is an error, which is read whole. */
const MAX_REFUSAL = 64 * 1024;

/** Which server is asked, over which connections, and with whose tokens. */
export interface ApiClientOptions {
  server: URL;
  connect: Connect;
  tokens: TokenSource;
}

/**
 * The server's API, asked as the user who is logged in. Paths begin with `/api/v1/`.
 * Every function throws LoginNeeded, ApiRefused or ApiUnreachable, whose messages are lines for the user.
 */
export interface ApiClient {
  readonly server: URL;
  get(path: string, signal?: AbortSignal): Promise<unknown>;
  post(path: string, body?: unknown): Promise<unknown>;
  patch(path: string, body: unknown): Promise<unknown>;
  delete(path: string): Promise<unknown>;
  /** An answer that comes in pieces, as one of server-sent events or a file. The caller closes it. */
  stream(path: string, options?: StreamOptions): Promise<HttpStream>;
}

/** What a request for a stream carries besides its path. `signal` ends the stream too. */
export interface StreamOptions {
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** Creates a client that sends its user's token, and a new one when that is no longer taken. */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const ask = (request: AskOptions) => askWhole(options, request);
  const withBody = (body: unknown) => body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_TYPE };
  return {
    server: options.server,
    get: (path, signal) => ask({ method: "GET", path, signal }),
    post: (path, body) => ask({ method: "POST", path, ...withBody(body) }),
    patch: (path, body) => ask({ method: "PATCH", path, ...withBody(body) }),
    delete: (path) => ask({ method: "DELETE", path }),
    stream: (path, { headers, signal } = {}) => askStream(options, { method: "GET", path, headers, signal }),
  };
}

const JSON_TYPE = { "content-type": "application/json" };

interface AskOptions extends Pick<HttpCall, "method" | "headers" | "body" | "signal"> {
  path: string;
}

async function askWhole(options: ApiClientOptions, request: AskOptions): Promise<unknown> {
  const { server, connect } = options;
  const answer = await askTwice(options, request, (asked) => call(connect, { ...asked, maxBytes: MAX_ANSWER }));
  if (answer.status === 204) return null;
  if (answer.status < 200 || answer.status > 299) throw explainRefusal(server, answer.status, answer.text);
  const value = parseJsonOrNull(answer.text);
  if (value === null) throw notPortway(server);
  return value;
}

async function askStream(options: ApiClientOptions, request: AskOptions): Promise<HttpStream> {
  const { server, connect } = options;
  const stream = await askTwice(options, request, (asked) => openStream(connect, asked), (refused) => refused.close());
  if (stream.status >= 200 && stream.status <= 299) return stream;
  try {
    throw explainRefusal(server, stream.status, await readRefusal(server, stream));
  } finally {
    stream.close();
  }
}

/** Asks with the token at hand, and once more with another one when the server does not take the first. */
async function askTwice<T extends { status: number }>(
  { server, tokens }: ApiClientOptions,
  { path, ...request }: AskOptions,
  send: (request: HttpCall) => Promise<T>,
  drop: (refused: T) => void = () => {},
): Promise<T> {
  const url = new URL(path, server);
  if (url.origin !== server.origin) throw new TypeError(`"${path}" leads to another server`);
  const ask = (token: string) =>
    send({ ...request, url, headers: { ...request.headers, authorization: `Bearer ${token}` } }).catch((error) => {
      throw explainCallFailure(server, error);
    });
  const token = await tokens.current();
  const answer = await ask(token);
  if (answer.status !== 401) return answer;
  drop(answer);
  const renewed = await tokens.renew(token);
  const again = renewed === null ? null : await ask(renewed);
  if (again !== null && again.status !== 401) return again;
  if (again !== null) drop(again);
  throw new LoginNeeded(tokens.explainRefused(server));
}

async function readRefusal(server: URL, { body }: HttpStream): Promise<string> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > MAX_REFUSAL) break;
      pieces.push(piece);
    }
  } catch (error) {
    throw explainCallFailure(server, error);
  }
  return await new Blob(pieces).text();
}

/** With what the reader can do about it in the same line. */
function explainRefusal(server: URL, status: number, text: string): Error {
  const refusal = parseRefusal(server, status, text);
  if (!(refusal instanceof ApiRefused) || refusal.details === null) return refusal;
  const { code, message, details } = refusal;
  return message.includes(details) ? refusal : new ApiRefused(status, code, `${message} ${details}`, details);
}
