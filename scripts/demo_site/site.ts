import { readFileSync } from "node:fs";

/** A small site that shows the traffic types of a tunnel: a page, a clock as an event stream, a WebSocket echo. */
export function startDemoSite(): { port: number; close(): Promise<void> } {
  const page = readFileSync(new URL("./index.html", import.meta.url));
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    switch (new URL(request.url).pathname) {
      case "/":
        return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
      case "/clock":
        return new Response(createClock(), { headers: { "content-type": "text/event-stream" } });
      case "/echo":
        return echo(request);
      default:
        return new Response("There is nothing here.\n", { status: 404 });
    }
  });
  return { port: server.addr.port, close: () => server.shutdown() };
}

/** The time of day, every second, as server-sent events. */
function createClock(): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval>;
  return new ReadableStream<string>({
    start(controller) {
      const tick = () => controller.enqueue(`data: ${new Date().toISOString()}\n\n`);
      tick();
      timer = setInterval(tick, 1000);
    },
    cancel: () => clearInterval(timer),
  }).pipeThrough(new TextEncoderStream());
}

/** Echoes all messages. */
function echo(request: Request): Response {
  if (request.headers.get("upgrade") !== "websocket") return new Response("A WebSocket is wanted.\n", { status: 426 });
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}
