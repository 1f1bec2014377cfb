import { createServer } from "node:http";
import { once } from "node:events";
import { WebSocketServer } from "ws";
import { LineLog } from "./events.ts";

/** A local service that speaks WebSocket, made with another implementation than ours. */
export interface SocketService extends AsyncDisposable {
  readonly port: number;
  /** What it saw, a line each: `open <path> <subprotocols>`, `closed <code> <reason>`. */
  readonly log: LineLog;
}

/**
 * Echoes messages at any path and takes the last subprotocol offered. The text `close <code> <reason>`, or `close`
 * alone, makes it close, `terminate` break off, `push <count>` makes it send that many numbers; `/refuse` refuses the
 * handshake with 403. A plain request to `/never` gets no answer.
 */
export async function startSocketService(): Promise<SocketService> {
  const log = new LineLog("the log of the WebSocket service");
  const http = createServer((request, response) => {
    if (request.url !== "/never") response.writeHead(426).end("this is a WebSocket");
  });
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: 64 * 1024 * 1024,
    handleProtocols: (offered) => [...offered].at(-1) ?? false,
  });
  http.on("upgrade", (request, socket, head) => {
    if (request.url === "/refuse") {
      return socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 8\r\nx-why: rules\r\n\r\nnot you!");
    }
    sockets.handleUpgrade(request, socket, head, (peer) => {
      log.add(`open ${request.url} ${request.headers["sec-websocket-protocol"] ?? ""}`.trim());
      peer.on("message", (data, isBinary) => {
        const text = isBinary ? "" : data.toString();
        const close = /^close (\d+) ?(.*)$/.exec(text), push = /^push (\d+)$/.exec(text);
        if (text === "terminate") peer.terminate();
        else if (text === "close") peer.close();
        else if (close !== null) peer.close(Number(close[1]), close[2]);
        else if (push !== null) { for (let i = 0; i < Number(push[1]); i++) peer.send(String(i)); }
        else peer.send(data, { binary: isBinary });
      });
      peer.on("close", (code, reason) => log.add(`closed ${code} ${reason}`.trim()));
      // Told by the close event that follows.
      peer.on("error", () => {});
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  if (address === null || typeof address === "string") throw new Error("the service has no port");
  return {
    port: address.port,
    log,
    async [Symbol.asyncDispose]() {
      for (const peer of sockets.clients) peer.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
