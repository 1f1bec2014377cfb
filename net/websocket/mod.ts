export { acceptWebSocket, type HandshakeExchange } from "./accept.ts";
export { type FrameListener, FrameReader, type FrameReaderOptions } from "./frame_reader.ts";
export { FrameSocket, type FrameSocketOptions } from "./frame_socket.ts";
export * from "./frames.ts";
export { MessageSocket, type MessageSocketOptions } from "./message_socket.ts";
