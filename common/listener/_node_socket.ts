import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
// @ts-types="@types/ws"
import { type WebSocket, WebSocketServer } from "ws";
import { clipReason, DEFAULT_MESSAGE_BYTES, sendableCode } from "./_socket_rules.ts";
import type { ServerSocket, UpgradeOptions } from "./types.ts";

/** Answers a WebSocket handshake that was checked before, and connects the socket to `options`. */
export function acceptSocket(message: IncomingMessage, socket: Duplex, head: Buffer, options: UpgradeOptions): void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES,
    handleProtocols: () => options.protocol ?? false,
  });
  server.handleUpgrade(message, socket, head, (ws) => connectSocket(ws, options));
}

function connectSocket(ws: WebSocket, options: UpgradeOptions): void {
  // ws tells of everything it refuses here, and then closes with the code that says so.
  ws.on("error", () => {});
  ws.on("message", (data, isBinary) => {
    const bytes = data instanceof ArrayBuffer ? Buffer.from(data) : Array.isArray(data) ? Buffer.concat(data) : data;
    options.onMessage(isBinary ? new Uint8Array(bytes) : bytes.toString("utf8"));
  });
  ws.on("close", (code, reason) => options.onClose(code, reason.toString("utf8")));
  if (options.heartbeatSeconds !== undefined) startHeartbeat(ws, options.heartbeatSeconds);
  options.onOpen?.(createServerSocket(ws));
}

/** Pings twice in the time that a peer may be silent. */
function startHeartbeat(ws: WebSocket, seconds: number): void {
  let silentTurns = 0;
  const hear = () => silentTurns = 0;
  ws.on("message", hear).on("ping", hear).on("pong", hear);
  const timer = setInterval(() => {
    if (++silentTurns >= 2) return ws.terminate();
    ws.ping();
  }, seconds * 500);
  ws.on("close", () => clearInterval(timer));
}

function createServerSocket(ws: WebSocket): ServerSocket {
  return {
    send(data) {
      if (ws.readyState !== ws.OPEN) return;
      // ws writes the very memory it is given, later; whoever sends goes on using it.
      if (typeof data === "string") ws.send(data);
      else ws.send(data.slice(), { binary: true });
    },
    close(code, reason) {
      if (ws.readyState === ws.OPEN) ws.close(sendableCode(code), clipReason(reason));
    },
    get bufferedAmount() {
      return ws.bufferedAmount;
    },
  };
}
