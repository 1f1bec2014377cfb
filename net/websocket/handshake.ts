import { createHash, randomBytes } from "node:crypto";
import type { Connection } from "../connection/mod.ts";

/** A handshake request, as its acceptance needs it. */
export interface HandshakeExchange {
  /** Whether the request is an acceptable WebSocket handshake (RFC 6455, section 4.2.1). */
  readonly isWebSocket: boolean;
  /** Returns a header field by its lower-case name. */
  header(name: string): string | null;
  readonly response: {
    /** Sends 101 with `block` (reason phrase, CRLF, field lines) and returns the connection. */
    switchProtocols(block: Uint8Array): Connection;
  };
}

/** Creates a random `Sec-WebSocket-Key`. */
export const createWebSocketKey = (): string => randomBytes(16).toString("base64");

/** Returns the `Sec-WebSocket-Accept` for a key (RFC 6455, section 4.2.2). */
export function acceptFor(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/**
 * Accepts a WebSocket handshake with the response 101, without extensions.
 * @param protocol a subprotocol that the client offered
 * @throws TypeError when the request is no handshake: check `isWebSocket` before
 */
export function acceptWebSocket(exchange: HandshakeExchange, protocol?: string): Connection {
  const key = exchange.header("sec-websocket-key");
  if (!exchange.isWebSocket || key === null) throw new TypeError("cannot accept a WebSocket: no handshake asks for it");
  const chosen = protocol === undefined ? "" : `sec-websocket-protocol: ${protocol}\r\n`;
  const block = `Switching Protocols\r\nupgrade: websocket\r\nsec-websocket-accept: ${acceptFor(key)}\r\n${chosen}`;
  return exchange.response.switchProtocols(new TextEncoder().encode(block));
}
