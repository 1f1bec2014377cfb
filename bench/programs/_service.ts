// The local service for every contestant. Prints its port.
//
//   /            12 bytes                     /json        10 KB JSON
//   /bytes/<n>   n bytes, with a length       /stream      two chunks, a second apart
//   /text/<n>    n bytes in lines, some with links to the service
//   /sink        reads the request body       /echo        a WebSocket echo
const PIECE = new Uint8Array(256 * 1024).fill(120);
const SMALL = new TextEncoder().encode("hello world\n");
const JSON_BODY = createJson(10_240);

function createJson(size: number): Uint8Array<ArrayBuffer> {
  const items: string[] = [];
  for (let length = 2; length < size - 90; length += items[items.length - 1].length + 1) {
    items.push(`{"id":${10_000 + items.length},"name":"item ${items.length}","tags":["one","two"],"price":12.5}`);
  }
  const text = `[${items.join(",")}]`;
  return new TextEncoder().encode(text.padEnd(size));
}

/** Lines with text; one in a hundred contains a link, as in a long page. */
const createText = (port: number) =>
  new TextEncoder().encode(
    `${"It was the best of times, it was the worst of times: the season of light, and of darkness.\n".repeat(99)}` +
      `See http://localhost:${port}/chapters/2.\n`,
  );

function answerBytes(size: number, type = "application/octet-stream", piece = PIECE): Response {
  let left = size;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left < piece.length ? piece.subarray(0, left) : piece;
      left -= next.length;
      if (next.length > 0) controller.enqueue(next);
      if (left === 0) controller.close();
    },
  }, { highWaterMark: 0 });
  return new Response(body, {
    headers: { "content-type": type, "content-length": String(size) },
  });
}

function fill(size: number, pattern: Uint8Array): Uint8Array<ArrayBuffer> {
  const filled = new Uint8Array(size);
  for (let at = 0; at < size; at += pattern.length) filled.set(pattern.subarray(0, size - at), at);
  return filled;
}

function answerStream(): Response {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(SMALL);
      timer = setTimeout(() => {
        try {
          controller.enqueue(SMALL);
          controller.close();
        } catch {
          // The visitor disconnected, and the stream already ended.
        }
      }, 1000);
    },
    cancel: () => clearTimeout(timer),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function drink(request: Request): Promise<Response> {
  let size = 0;
  if (request.body !== null) { for await (const piece of request.body) size += piece.length; }
  return new Response(`${size}\n`);
}

function echo(request: Request): Response {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(data);
  };
  socket.onerror = () => {};
  return response;
}

function answer(request: Request): Response | Promise<Response> {
  const path = request.url.slice(request.url.indexOf("/", "http://".length));
  if (path === "/") return new Response(SMALL);
  if (path === "/json") return new Response(JSON_BODY, { headers: { "content-type": "application/json" } });
  if (path === "/stream") return answerStream();
  if (path === "/sink") return drink(request);
  if (path === "/echo") return echo(request);
  const [, kind, size] = /^\/(bytes|text)\/(\d+)$/.exec(path) ?? [];
  if (kind === "text") return answerBytes(Number(size), "text/plain", text);
  return kind === "bytes" ? answerBytes(Number(size)) : new Response("no such path\n", { status: 404 });
}

const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, answer);
const text = fill(PIECE.length, createText(server.addr.port));
Deno.stdout.writeSync(new TextEncoder().encode(`port ${server.addr.port}\n`));
