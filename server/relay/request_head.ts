import type { Exchange } from "../../common/listener/mod.ts";
import type { Origin } from "../../common/forwarded.ts";
import { isDroppedFromRequest, namedByConnection } from "./hygiene.ts";

/**
 * The head block that a visitor's request travels with (docs/protocol.md): request line, `host` first of the field
 * lines, then what the visitor sent less what stays behind, then where it came from, then a blank line.
 */
export function buildRequestHead(
  exchange: Exchange,
  origin: Pick<Origin, "address" | "proto">,
  webSocket: boolean,
): string {
  // The Host that led to this tunnel. Proxies that do not set X-Forwarded-Host pass a visitor's own on: it names nothing.
  const { method, target, host, headers } = exchange;
  const named = namedByConnection(exchange.header("connection"));
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i];
    if (isDroppedFromRequest(name) || named?.has(name) || (webSocket && isHandshake(name))) {
      continue;
    }
    head += `${name}: ${headers[i + 1]}\r\n`;
  }
  const { address, proto } = origin;
  const node = address.includes(":") ? `"[${address}]"` : address;
  return `${head}x-forwarded-for: ${address}\r\nx-forwarded-proto: ${proto}\r\nx-forwarded-host: ${host}\r\n` +
    `forwarded: for=${node};proto=${proto};host="${host}"\r\n\r\n`;
}

/** Fields of the visitor's WebSocket handshake that end at the relay; the client makes its own with the service. */
function isHandshake(name: string): boolean {
  return name === "sec-websocket-key" || name === "sec-websocket-version" || name === "sec-websocket-extensions";
}
