import type { Connection } from "../connection/mod.ts";
import { decodeLatin1 } from "../http1/mod.ts";
import { DenoSocketConnection } from "./deno_socket.ts";
import { BodyCut, type Exchange, type ResponseWriter } from "./types.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The part of `Deno.upgradeWebSocket` in use. */
export type UpgradeWebSocket = (
  request: Request,
  options: { idleTimeout: number },
) => { socket: WebSocket; response: Response };

/** Converts a byte response into the `Response` for `Deno.serve`. */
export class DenoResponseWriter implements ResponseWriter {
  begun = false;
  /** The handler's response. */
  readonly response: Promise<Response>;
  readonly #exchange: Pick<Exchange, "method" | "request" | "httpVersion">;
  readonly #upgradeWebSocket: UpgradeWebSocket;
  #resolve!: (response: Response) => void;
  #controller: ReadableStreamDefaultController<Bytes> | null = null;
  /** Resolves once the last chunk has been taken. */
  #taken: (() => void) | null = null;
  #isWanted = false;
  #left: number | null = null;

  constructor(
    exchange: Pick<Exchange, "method" | "request" | "httpVersion">,
    upgradeWebSocket: UpgradeWebSocket,
  ) {
    this.#exchange = exchange;
    this.#upgradeWebSocket = upgradeWebSocket;
    this.response = new Promise((resolve) => this.#resolve = resolve);
  }

  /** Deno cannot send one. */
  inform(): void {}

  begin(status: number, block: Uint8Array, length: number | null, body: Uint8Array, end: boolean): void {
    if (this.begun) return;
    this.begun = true;
    // Deno sends 205 without a length, so its reader would wait forever.
    if (status === 205 && this.#exchange.httpVersion !== "2") status = 204;
    const headers = parseBlock(block, status === 204);
    const hasLength = headers.some(([name]) => name === "content-length");
    const isEmpty = this.#exchange.method === "HEAD" || status === 204 || status === 205 || status === 304;
    if (isEmpty) return this.#resolve(new Response(this.#bodyOfHead(hasLength, status), { status, headers }));
    if (end) return this.#resolve(new Response(body.slice(), { status, headers }));
    this.#left = length;
    const stream = new ReadableStream<Bytes>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => {
        this.#isWanted = true;
        this.#settle();
      },
      cancel: () => {
        this.#controller = null;
        this.#settle();
      },
    }, { highWaterMark: 0 });
    if (body.length > 0) void this.write(body.slice());
    this.#resolve(new Response(stream, { status, headers }));
  }

  write(piece: Uint8Array, end = false): Promise<void> {
    if (this.#left !== null) this.#left -= piece.length;
    if (this.#left !== null && this.#left < 0) this.cut();
    // Deno keeps the buffer as long as needed.
    if (piece.length > 0) this.#controller?.enqueue(piece.slice());
    if (end) this.end();
    if (this.#controller === null || this.#isWanted) {
      this.#isWanted = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#taken = resolve);
  }

  end(): void {
    if (this.#left !== null && this.#left > 0) return this.cut();
    this.#controller?.close();
    this.#controller = null;
    this.#settle();
  }

  cut(): void {
    const failure = new BodyCut("the answer was broken off");
    if (!this.begun) {
      this.#resolve(new Response(new ReadableStream({ start: (controller) => controller.error(failure) })));
    }
    this.begun = true;
    this.#controller?.error(failure);
    this.#controller = null;
    this.#settle();
  }

  switchProtocols(block: Uint8Array): Connection {
    this.begun = true;
    // The default would ping peers that have their own heartbeat.
    const { socket, response } = this.#upgradeWebSocket(this.#exchange.request, { idleTimeout: 0 });
    // Deno's own option splits the offer at ", " only and refuses "a,b".
    const [, protocol] = parseBlock(block).find(([name]) => name === "sec-websocket-protocol") ?? [];
    if (protocol !== undefined) response.headers.set("sec-websocket-protocol", protocol);
    this.#resolve(response);
    return new DenoSocketConnection(socket);
  }

  #settle(): void {
    const taken = this.#taken;
    this.#taken = null;
    if (taken !== null) this.#isWanted = false;
    taken?.();
  }

  /** No body is sent either way, but Deno gives a missing body the length 0, as for GET. */
  #bodyOfHead(hasLength: boolean, status: number): ReadableStream | null {
    if (status === 204 || status === 205 || status === 304 || hasLength) return null;
    return new ReadableStream({ start: (controller) => controller.close() });
  }
}

/** Returns a checked block's fields, duplicates apart. Deno cannot send the reason phrase. */
function parseBlock(block: Uint8Array, withoutLength = false): [name: string, value: string][] {
  const fields: [string, string][] = [];
  const [, ...lines] = decodeLatin1(block, 0, block.length).split("\r\n");
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon).toLowerCase();
    if (!withoutLength || name !== "content-length") fields.push([name, line.slice(colon + 1).trim()]);
  }
  return fields;
}
