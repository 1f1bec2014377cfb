import type { Connection } from "../connection/mod.ts";
import { acceptFor } from "./frames.ts";

/** What a handshake needs of the request that it is. */
export interface HandshakeExchange {
  /** Whether it is a WebSocket handshake that can be accepted (RFC 6455, section 4.2.1). */
  readonly isWebSocket: boolean;
  /** One header by its lower-case name. */
  header(name: string): string | null;
  readonly response: {
    /** Answers 101 with `block` (reason phrase, CRLF, field lines) and hands the connection over. */
    switchProtocols(block: Uint8Array): Connection;
  };
}

/**
 * Accepts a WebSocket handshake: answers 101, without extensions.
 * @param protocol the subprotocol, one that the visitor offered
 * @throws TypeError when the request is no handshake: look at `isWebSocket` first
 */
export function acceptWebSocket(exchange: HandshakeExchange, protocol?: string): Connection {
  const key = exchange.header("sec-websocket-key");
  if (!exchange.isWebSocket || key === null) throw new TypeError("cannot accept a WebSocket: no handshake asks for it");
  const chosen = protocol === undefined ? "" : `sec-websocket-protocol: ${protocol}\r\n`;
  const block = `Switching Protocols\r\nupgrade: websocket\r\nsec-websocket-accept: ${acceptFor(key)}\r\n${chosen}`;
  return exchange.response.switchProtocols(new TextEncoder().encode(block));
}
