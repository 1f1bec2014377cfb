import type { Connect } from "../../net/connection/mod.ts";
import { ApiRefused, explainCallFailure, LoginNeeded, notPortway, parseJsonOrNull, parseRefusal } from "./api_error.ts";
import { call, type HttpCall, type HttpStream, openStream } from "./http_call.ts";
import type { TokenSource } from "./tokens.ts";

/** Response limit in bytes. A page of captures with all headers can reach several megabytes. */
const MAX_RESPONSE = 16 * 1024 * 1024;
/** Limit for an error response to a stream request, in bytes; the client buffers it whole. */
const MAX_REFUSAL = 64 * 1024;

/** The server, the connector and the token source. */
export interface ApiClientOptions {
  server: URL;
  connect: Connect;
  tokens: TokenSource;
}

/**
 * Client for the server's API as the logged-in user. Paths begin with `/api/v1/`. Methods throw LoginNeeded, ApiRefused
 * or ApiUnreachable, whose messages are one line for the user.
 */
export interface ApiClient {
  readonly server: URL;
  get(path: string, signal?: AbortSignal): Promise<unknown>;
  post(path: string, body?: unknown): Promise<unknown>;
  patch(path: string, body: unknown): Promise<unknown>;
  delete(path: string): Promise<unknown>;
  /** Returns a streaming response, for server-sent events or a file. The caller closes it. */
  stream(path: string, options?: StreamOptions): Promise<HttpStream>;
}

/** Options of a stream request. `signal` also ends the open stream. */
export interface StreamOptions {
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** Creates a client that sends the user's token and renews it after a 401. */
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
  const response = await askTwice(options, request, (asked) => call(connect, { ...asked, maxBytes: MAX_RESPONSE }));
  if (response.status === 204) return null;
  if (response.status < 200 || response.status > 299) throw explainRefusal(server, response.status, response.text);
  const value = parseJsonOrNull(response.text);
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

/** Sends a request with the current token. After a 401 it retries once with a renewed token. */
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
  const response = await ask(token);
  if (response.status !== 401) return response;
  drop(response);
  const renewed = await tokens.renew(token);
  const again = renewed === null ? null : await ask(renewed);
  if (again !== null && again.status !== 401) return again;
  if (again !== null) drop(again);
  throw new LoginNeeded(tokens.explainRefused(server));
}

async function readRefusal(server: URL, { body }: HttpStream): Promise<string> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > MAX_REFUSAL) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw explainCallFailure(server, error);
  }
  return await new Blob(chunks).text();
}

/** Appends the server's advice to the error message. */
function explainRefusal(server: URL, status: number, text: string): Error {
  const refusal = parseRefusal(server, status, text);
  if (!(refusal instanceof ApiRefused) || refusal.details === null) return refusal;
  const { code, message, details } = refusal;
  return message.includes(details) ? refusal : new ApiRefused(status, code, `${message} ${details}`, details);
}
