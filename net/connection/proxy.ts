import { scanFieldLines, scanValue } from "../http1/mod.ts";
import { describeAbort } from "./_failure.ts";
import type { ProxyAddress } from "./proxy_rules.ts";
import { ConnectError, type Connection } from "./types.ts";

/** Byte limit for a proxy's response head. A page after a refusal is not read. */
const MAX_PROXY_ANSWER = 16 * 1024;

/**
 * Asks the proxy at the other end of `connection` to connect to a peer (RFC 9110, section 9.3.6). Afterwards the
 * connection's bytes are the peer's. The caller closes it, also after a failure.
 * @throws ConnectError with `proxy` when the proxy refuses or sends an invalid response
 */
export async function connectThroughProxy(
  connection: Connection,
  proxy: ProxyAddress,
  hostname: string,
  port: number,
  signal?: AbortSignal,
): Promise<void> {
  const attempt = `cannot connect to ${hostname} port ${port} through the proxy ${proxy.hostname} port ${proxy.port}`;
  const giveUp = () => connection.close();
  signal?.addEventListener("abort", giveUp);
  try {
    signal?.throwIfAborted();
    await connection.write(new TextEncoder().encode(renderConnect(proxy, hostname, port)));
    await readResponse(connection);
  } catch (cause) {
    if (signal?.aborted) throw describeAbort(attempt, signal);
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConnectError("proxy", `${attempt}: ${reason}`, { cause });
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

function renderConnect(proxy: ProxyAddress, hostname: string, port: number): string {
  const authority = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  const authorization = proxy.authorization === undefined ? "" : `proxy-authorization: ${proxy.authorization}\r\n`;
  return `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${authorization}\r\n`;
}

async function readResponse(connection: Connection): Promise<void> {
  const buffer = new Uint8Array(MAX_PROXY_ANSWER);
  let length = 0;
  for (let end = -1; end < 0;) {
    if (length === buffer.length) throw new RangeError(`its response is longer than ${MAX_PROXY_ANSWER} bytes`);
    const count = await connection.read(buffer.subarray(length));
    if (count === null) throw new Error("it closed the connection");
    length += count;
    end = scanResponse(buffer, length);
    // A TLS or WebSocket server never sends first.
    if (end >= 0 && end < length) throw new Error("bytes came before the first request");
  }
}

/** Returns the offset after the response head, or -1 for an incomplete head. */
function scanResponse(buffer: Uint8Array, length: number): number {
  const lineEnd = scanValue(buffer, 0, length);
  if (lineEnd < 0) return -1;
  const line = String.fromCharCode(...buffer.subarray(0, lineEnd));
  const match = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(line);
  if (match === null) throw new SyntaxError(`it does not speak HTTP, its response starts with ${quoteLine(line)}`);
  const [, status, reason = ""] = match;
  if (!status.startsWith("2")) throw new Error(explainRefusal(status, reason));
  return scanFieldLines(buffer, lineEnd + 2, length);
}

function explainRefusal(status: string, reason: string): string {
  if (status === "407") return "it wants a user and a password (407), which go into the proxy's URL";
  return `it answered ${status} ${quoteLine(reason)}`;
}

/** Quotes untrusted text for a message: one line without control characters, shortened. */
function quoteLine(text: string): string {
  return JSON.stringify(text.slice(0, 80)).replace(/[\x7f-\xff]/g, "?");
}
