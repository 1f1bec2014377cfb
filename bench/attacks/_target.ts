// The local service behind the attacked tunnel. It uses Portway's listener, because a service that lets new visitors wait
// would be measured with the server. Prints its port.
//
//   /                 5 bytes               /large        1 GiB at full speed
//   /whole            1 MiB                 /slow         reads 1 MB per second
//   /fields/<n>       n response fields     /refuse       403 without reading the body
//   any upgrade       101, then an echo; /ws/sink reads only, /ws/ping pings without end
//   other paths       read the body and return its size
import process from "node:process";
import { type Connection, setForAccepted } from "../../net/connection/mod.ts";
import { delay } from "../../common/delay.ts";
import { encodeLatin1 } from "../../net/http1/mod.ts";
import { BodyCut, type Exchange, listen } from "../../net/listener/mod.ts";
import { silentLogger } from "../../common/log.ts";

const LARGE_BYTES = 1024 ** 3, WHOLE_BYTES = 1024 ** 2;
const PIECE = new Uint8Array(64 * 1024).fill(120);
const NOTHING = new Uint8Array(0);
const SLOW_BYTES_PER_SECOND = 1_000_000;
/** From asm-generic/socket.h of Linux. */
const SOL_SOCKET = 1, SO_SNDBUF = 7;
const SEND_BUFFER = 64 * 1024;
/** The limits per address do not apply to a tunnel's client. */
const LIMITS = { maxConnectionsPerAddress: Infinity, stallSeconds: Infinity, bodySeconds: Infinity };

async function answer(exchange: Exchange): Promise<null> {
  try {
    await (exchange.upgrade === null ? answerPath(exchange) : answerUpgrade(exchange));
  } catch (error) {
    if (!(error instanceof BodyCut)) throw error;
  }
  return null;
}

async function answerPath(exchange: Exchange): Promise<void> {
  const { path } = exchange;
  if (path === "/") return send(exchange, 200, "hello");
  if (path === "/large") return await sendLarge(exchange, LARGE_BYTES);
  if (path === "/whole") return await sendLarge(exchange, WHOLE_BYTES);
  if (path === "/refuse") return send(exchange, 403, "no");
  const fields = /^\/fields\/(\d+)$/.exec(path);
  if (fields !== null) return send(exchange, 200, "", manyFields(Number(fields[1])));
  const rate = path === "/slow" ? SLOW_BYTES_PER_SECOND : Infinity;
  const size = await drink(exchange, rate);
  send(exchange, 200, path === "/slow" ? "done" : String(size));
}

function send({ response }: Exchange, status: number, text: string, fields = ""): void {
  const block = encodeLatin1(`\r\n${fields}content-length: ${text.length}\r\n`);
  response.begin(status, block, text.length, encodeLatin1(text), true);
}

function manyFields(count: number): string {
  let lines = "";
  for (let field = 0; field < count; field++) lines += `x${field}: 1\r\n`;
  return lines;
}

async function sendLarge(exchange: Exchange, bytes: number): Promise<void> {
  const { response } = exchange;
  let hasLeft = false;
  exchange.onLeave = () => hasLeft = true;
  response.begin(200, encodeLatin1(`\r\ncontent-length: ${bytes}\r\n`), bytes, NOTHING, false);
  for (let left = bytes; left > 0 && !hasLeft;) {
    left -= PIECE.length;
    await response.write(PIECE, left === 0);
  }
}

/** Reads a body at a byte rate. Returns its size. */
async function drink(exchange: Exchange, rate: number): Promise<number> {
  let size = 0;
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    size += piece.length;
    if (rate < Infinity) await delay(piece.length / rate * 1000);
  }
  return size;
}

async function answerUpgrade({ path, response }: Exchange): Promise<void> {
  const connection = response.switchProtocols(encodeLatin1("Switching Protocols\r\nupgrade: websocket\r\n"));
  if (path === "/ws/ping") void pingWithoutEnd(connection).catch(() => connection.close());
  await sendBack(connection, path.startsWith("/ws/")).catch(() => {});
  connection.close();
}

async function sendBack(connection: Connection, isSilent: boolean): Promise<void> {
  const into = new Uint8Array(64 * 1024);
  for (let count = await connection.read(into); count !== null; count = await connection.read(into)) {
    if (!isSilent) await connection.write(into.subarray(0, count));
  }
}

async function pingWithoutEnd(connection: Connection): Promise<never> {
  const pings = new Uint8Array(16 * 1024);
  for (let at = 0; at < pings.length; at += 2) pings[at] = 0x89;
  for (;;) await connection.write(pings);
}

const options = { hostname: "127.0.0.1", port: 0, limits: LIMITS, log: silentLogger };
const { port } = await listen("edge", options, answer);
// Usually the service runs on another machine. Here 2,000 unread responses would hold 1.6 GB TCP memory in its send
// buffers, and all connections on this machine would wait.
setForAccepted(port, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER);
process.stdout.write(`port ${port}\n`);
