// The local service that attacks go through to. Prints its port.
//   /                 5 bytes               /large        1 GiB, as fast as it is taken
//   /slow             reads 1 MB a second   /fields/<n>   an answer with n fields
//   /refuse           403, and reads nothing of the body
//   any upgrade       101, then sends back what it gets; /ws/sink reads and says nothing, /ws/ping pings without end
//   all else          reads what is sent, and says how many bytes it was
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import process from "node:process";
import type { AddressInfo } from "node:net";
import { setForAccepted } from "../../common/connection/mod.ts";

const LARGE_BYTES = 1024 ** 3;
const PIECE = new Uint8Array(64 * 1024).fill(120);
const SLOW_BYTES_PER_SECOND = 1_000_000;
/** From asm-generic/socket.h of Linux. */
const SOL_SOCKET = 1, SO_SNDBUF = 7;
const SEND_BUFFER = 64 * 1024;

const server = createServer({ requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
  const url = request.url ?? "/";
  request.on("error", () => {});
  response.on("error", () => {});
  if (url === "/") return void response.end("hello");
  if (url === "/large") return sendLarge(response);
  if (url === "/slow") return drinkSlowly(request, response);
  if (url === "/refuse") return void response.writeHead(403).end("no");
  const fields = /^\/fields\/(\d+)$/.exec(url);
  if (fields !== null) return sendFields(response, Number(fields[1]));
  drink(request, response);
});

server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
  socket.on("error", () => socket.destroy());
  socket.on("end", () => socket.end());
  socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n");
  if (request.url === "/ws/sink") return void socket.resume();
  if (request.url === "/ws/ping") {
    socket.resume();
    return pingWithoutEnd(socket);
  }
  socket.pipe(socket);
});

function sendLarge(response: ServerResponse): void {
  let left = LARGE_BYTES;
  response.writeHead(200, { "content-length": String(left) });
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= PIECE.length;
      if (!response.write(PIECE)) return;
    }
    response.end();
  };
  response.on("drain", more);
  more();
}

function drinkSlowly(request: IncomingMessage, response: ServerResponse): void {
  request.on("data", (piece: Uint8Array) => {
    request.pause();
    setTimeout(() => request.resume(), piece.length / SLOW_BYTES_PER_SECOND * 1000);
  });
  request.on("end", () => response.end("done"));
}

function drink(request: IncomingMessage, response: ServerResponse): void {
  let size = 0;
  request.on("data", (piece: Uint8Array) => size += piece.length);
  request.on("end", () => response.end(String(size)));
}

function sendFields(response: ServerResponse, count: number): void {
  let head = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n";
  for (let field = 0; field < count; field++) head += `x${field}: 1\r\n`;
  response.socket?.write(`${head}\r\n`);
}

function pingWithoutEnd(socket: Duplex): void {
  const pings = new Uint8Array(16 * 1024);
  for (let at = 0; at < pings.length; at += 2) pings[at] = 0x89;
  const more = () => {
    while (socket.write(pings));
  };
  socket.on("drain", more);
  more();
}

// A service that has no room for those who come at once has them come again after a second, whatever is before it.
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const { port } = server.address() as AddressInfo;
  // In earnest the service is on another machine. Here 2,000 answers that nobody reads would have 1.6 GB of this one's
  // TCP memory in its own send buffers, and all connections, the server's too, would wait for some to come free.
  setForAccepted(port, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER);
  process.stdout.write(`port ${port}\n`);
});
process.on("uncaughtException", () => {});
