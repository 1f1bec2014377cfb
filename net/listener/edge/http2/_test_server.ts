// A TLS server as a separate program, so that the same tests run it on Deno and on Node. Its arguments are the listener
// kind and its limits as JSON. It prints events as lines and reads the commands `release` and `close`.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { silentLogger } from "../../../../common/log.ts";
import { listen } from "../../open.ts";
import type { Exchange, Listener, ListenerKind } from "../../types.ts";

const [kind, limits] = process.argv.slice(2);
const testdata = new URL("../../../connection/testdata/", import.meta.url);
const pem = (name: string) => readFileSync(new URL(name, testdata), "utf8");
const print = (line: string) => void process.stdout.write(`${line}\n`);
const ENCODER = new TextEncoder();

let held = new Set<() => void>();
const counts = { held: 0, left: 0 };

/** Waits for `release`, or until the client disconnects. */
async function hold(exchange: Exchange): Promise<void> {
  counts.held++;
  const waiting = Promise.withResolvers<void>();
  held.add(waiting.resolve);
  exchange.onLeave = () => {
    counts.left++;
    print(`left ${exchange.path}`);
    held.delete(waiting.resolve);
    waiting.resolve();
  };
  print(`held ${exchange.path}`);
  await waiting.promise;
  counts.held--;
}

function release(): void {
  for (const go of held) go();
  held = new Set();
}

async function respond(exchange: Exchange): Promise<Response | null> {
  const { pathname, searchParams } = new URL(exchange.path, "http://a");
  const status = /^\/status\/(\d+)$/.exec(pathname);
  if (status !== null) return sendStatus(Number(status[1]));
  switch (pathname) {
    case "/hold":
      await hold(exchange);
      return new Response("held");
    case "/stats":
      return Response.json({ ...counts, connections: listener.connections, sockets: countSockets() });
    case "/early":
      return new Response("no", { status: 413 });
    case "/early-amid":
      // The response ends the pending read.
      exchange.readBody().catch(() => {});
      return new Response("no", { status: 413 });
    case "/echo":
      return new Response(exchange.body);
    case "/inspect":
      return Response.json(await inspect(exchange));
    case "/big":
      return new Response(big(Number(searchParams.get("size"))));
    case "/sized":
      return new Response(big(1_000_000), { headers: { "content-length": "1000000" } });
    case "/events":
      return sendEvents(exchange);
    case "/bytes":
      return sendBytes(exchange);
    case "/whole":
      return sendWhole(exchange);
    case "/cookies":
      return new Response("c", {
        headers: [["set-cookie", "a=1; Path=/"], ["set-cookie", "b=2"], ["x-a", "1"], ["x-latin", "caf\xe9"]],
      });
    case "/defect":
      throw new Error("a defect");
    default:
      return new Response("hello");
  }
}

function sendStatus(status: number): Response {
  const isEmpty = status === 204 || status === 205 || status === 304;
  return new Response(isEmpty ? null : `status ${status}`, { status, headers: { etag: '"a"' } });
}

async function inspect(exchange: Exchange) {
  const { method, path, host, hasBody, headers, secure, remoteAddress } = exchange;
  let body = "";
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    body += String.fromCharCode(...piece);
  }
  return { method, target: path, host, hasBody, headers, secure, remoteAddress, body };
}

function big(size: number): ReadableStream<Uint8Array> {
  let left = size;
  return new ReadableStream({
    pull(controller) {
      const piece = new Uint8Array(Math.min(left, 50_000)).fill(left % 251);
      left -= piece.length;
      if (piece.length > 0) controller.enqueue(piece);
      if (left === 0) controller.close();
    },
  }, { highWaterMark: 0 });
}

/** Responds with events. `release` sends the second one. */
function sendEvents(exchange: Exchange): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(ENCODER.encode("data: 1\n\n"));
      await hold(exchange);
      controller.enqueue(ENCODER.encode("data: 2\n\n"));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** Responds with bytes, as the relay does. */
function sendBytes({ response }: Exchange): null {
  const block = ENCODER.encode("Fine\r\nX-Case: Kept\r\ncontent-length: 6\r\nx-b: 1\r\nx-b: 2\r\n");
  response.begin(200, block, 6, ENCODER.encode("abc"), false);
  void response.write(ENCODER.encode("def"), true);
  return null;
}

/** Sends an interim response, a response and trailers. */
function sendWhole({ response }: Exchange): null {
  response.inform(103, ENCODER.encode("Early Hints\r\nlink: </a>; rel=preload\r\n"));
  response.begin(200, ENCODER.encode("OK\r\ntrailer: x-sum\r\n"), null, ENCODER.encode("abc"), false);
  response.end(ENCODER.encode("x-sum: 3\r\n"));
  return null;
}

/** Counts the sockets of this process on Linux, without UNIX sockets, which the runtime opens at any time. */
function countSockets(): number {
  if (process.platform !== "linux") return 0;
  const unix = new Set(readFileSync("/proc/self/net/unix", "utf8").split("\n").map((line) => line.split(/\s+/)[6]));
  const isSocket = (fd: string) => {
    const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/self/fd/${fd}`))?.[1];
    return inode !== undefined && !unix.has(inode);
  };
  return readdirSync("/proc/self/fd").filter(isSocket).length;
}

/** Returns "" for the descriptor that made the listing, because it is closed now. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

const listener: Listener = await listen(kind as ListenerKind, {
  hostname: "127.0.0.1",
  port: 0,
  tls: { cert: pem("leaf.pem"), key: pem("leaf.key") },
  limits: JSON.parse(limits ?? "{}"),
  log: { ...silentLogger, error: (event) => print(`error ${event}`) },
}, respond);
print(`port ${listener.port}`);
createInterface(process.stdin).on("line", async (line) => {
  if (line === "release") return release();
  await listener.close();
  process.exit();
});
