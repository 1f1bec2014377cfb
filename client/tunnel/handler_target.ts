import type { RequestHead } from "../../net/http1/mod.ts";
import type { FetchTarget } from "../../common/fetch_target.ts";
import { errorResponse, HttpError } from "../../common/http_error.ts";
import { MAX_HEAD, type RequestStream, ResetReason, StreamEnded, type StreamHandler } from "../../protocol/mod.ts";
import type { Target, TunnelRequest } from "./target.ts";

/**
 * A target that is code in this process: a shared folder, a site. No local port is needed. It takes no upgrades: a
 * request for one is answered as the plain request that it is without.
 */
export function createHandlerTarget(name: string, target: FetchTarget): Target {
  return {
    name,
    handle: (request) => new HandlerExchange(request, target),
    close: () => target.close(),
  };
}

class HandlerExchange implements StreamHandler {
  readonly #stream: RequestStream;
  readonly #abort = new AbortController();
  #body: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;

  constructor(request: TunnelRequest, target: FetchTarget) {
    this.#stream = request.stream;
    this.#run(request, target);
  }

  onData(piece: Uint8Array, end: boolean): void {
    if (piece.length > 0) this.#body?.enqueue(piece.slice());
    if (end) this.#body?.close();
    if (end) this.#body = null;
  }

  onReset(): void {
    const body = this.#body;
    this.#body = null;
    body?.error(new DOMException("the visitor left", "AbortError"));
    this.#abort.abort();
  }

  async #run(request: TunnelRequest, target: FetchTarget): Promise<void> {
    const fields = parseFields(request.head), { method, path } = request.head;
    const header = (name: string) => fields.find(([known]) => known === name)?.[1] ?? "";
    const info = {
      path,
      remoteAddress: header("x-forwarded-for"),
      publicHost: header("x-forwarded-host"),
    };
    try {
      const response = await target.fetch(this.#createRequest(request, fields), info);
      await this.#send(response, method === "HEAD");
    } catch (error) {
      if (error instanceof StreamEnded || this.#stream.ended !== null) return;
      // The answer has begun, so the only way left to say that it is not whole is to break it off.
      if (this.#stream.status !== 0) return this.#stream.reset(ResetReason.broken, "the answer broke off");
      // Handlers promise not to reject. This is for what the web API refuses, such as a method it does not know.
      const refusal = errorResponse(new HttpError(400, "bad_request", "This request cannot be answered."), null);
      await this.#send(refusal, false).catch(() => this.#stream.reset(ResetReason.internal));
    } finally {
      this.#body = null;
      // The rest of the request is not wanted; nobody would give credit for it.
      this.#stream.reset(ResetReason.none);
    }
  }

  #createRequest(request: TunnelRequest, fields: [string, string][]): Request {
    const host = fields.find(([name]) => name === "host")?.[1] ?? "localhost";
    const { method, path } = request.head;
    const hasBody = !request.bodyless && !request.upgrade && method !== "GET" && method !== "HEAD";
    const init: RequestInit & { duplex?: "half" } = { method, headers: fields, signal: this.#abort.signal };
    if (hasBody) {
      init.body = this.#createBody();
      init.duplex = "half";
    }
    return new Request(`http://${host}${path.startsWith("//") ? `/.${path}` : path}`, init);
  }

  #createBody(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.#body = controller;
      },
      cancel: () => {
        this.#body = null;
      },
    }, { highWaterMark: 0, size: () => 0 }).pipeThrough(this.#creditOnRead());
  }

  /** Gives credit back as the handler takes pieces, not as they arrive. */
  #creditOnRead(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
    return new TransformStream(
      {
        transform: (piece, controller) => {
          controller.enqueue(piece);
          this.#stream.consumed(piece.length);
        },
      },
      undefined,
      { highWaterMark: 0 },
    );
  }

  async #send(response: Response, isHead: boolean): Promise<void> {
    const head = serializeBlock(response);
    if (head.length > MAX_HEAD) throw new RangeError("the answer's head is too large");
    if (this.#stream.room === 0) await this.#stream.whenRoom();
    const respond = (body: Uint8Array, end: boolean) =>
      this.#stream.respond(response.status, head, 0, head.length, body, 0, body.length, end);
    if (response.body === null || isHead) {
      await response.body?.cancel();
      return respond(NOTHING, true);
    }
    const reader = response.body.getReader();
    this.#abort.signal.addEventListener("abort", () => reader.cancel().catch(() => {}));
    let next = await reader.read();
    const first = next.value ?? NOTHING;
    const fits = first.length <= this.#stream.room;
    const isWhole = next.done || first.length === Number(response.headers.get("content-length") ?? NaN);
    respond(fits ? first : NOTHING, fits && isWhole);
    // One frame for a small file: the relay answers bytes that are all there at half the cost of a stream.
    if (fits && isWhole) return await reader.cancel();
    if (!fits) await this.#stream.write(first);
    while (!next.done) {
      next = await reader.read();
      if (next.value !== undefined) await this.#stream.write(next.value);
    }
    this.#stream.end();
  }
}

const NOTHING = new Uint8Array(0);

/** The field lines of a head that was checked, as pairs; characters stand for bytes (Latin-1). */
function parseFields(head: RequestHead): [string, string][] {
  return Array.from({ length: head.fieldCount }, (_, field) => [head.name(field).toLowerCase(), head.value(field)]);
}

/** Reason phrase and field lines as bytes: both are byte strings already. */
function serializeBlock({ statusText, headers }: Response): Uint8Array {
  let text = `${statusText}\r\n`;
  for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
