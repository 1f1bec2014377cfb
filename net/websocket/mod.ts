/** WebSockets (RFC 6455): handshake, frames, a byte stream for sessions, and whole messages. */
export { FrameSocket, type FrameSocketOptions } from "./frame_socket.ts";
export * from "./frames.ts";
export { acceptFor, acceptWebSocket, createWebSocketKey, type HandshakeExchange } from "./handshake.ts";
export { MessageSocket, type MessageSocketOptions } from "./message_socket.ts";
