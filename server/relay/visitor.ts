import { BodyCut, type Exchange } from "../../common/listener/mod.ts";
import { errorResponse, type HttpError } from "../../common/http_error.ts";
import { type MuxStream, ResetReason, StreamEnded, type StreamHandler } from "../../protocol/mod.ts";
import { type ChunkMemory, createChunkMemory } from "../../common/chunk_memory.ts";
import { keepView, releaseMessage } from "../../common/message_memory.ts";
import { badAnswer, fromReset } from "./errors.ts";
import { type HeaderPairs, parseResponseHead } from "./response_head.ts";

/** Statuses whose responses have no body (fetch standard, "null body status"). */
const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** What a tunnel has for its visitors. */
export interface Meter {
  /** Counts bytes carried, in either direction. */
  meter(bytes: number): void;
  /** Why no visitor may pass any more, or null. */
  gate(): HttpError | null;
}

/**
 * One visitor's HTTP request on its way through a session: its body goes in, the answer comes out as a `Response`.
 */
export class Visitor implements StreamHandler {
  readonly response: Promise<Response>;
  readonly #exchange: Exchange;
  readonly #meter: Meter;
  #stream: MuxStream | null = null;
  #answer!: (response: Response) => void;
  #body: ResponseBody | null = null;
  #answered = false;
  #watched = false;

  constructor(exchange: Exchange, meter: Meter) {
    this.#exchange = exchange;
    this.#meter = meter;
    this.response = new Promise((resolve) => this.#answer = resolve);
  }

  /** Takes the stream that was opened for this visitor, and sends the request's body on it. */
  start(stream: MuxStream): void {
    this.#stream = stream;
    const { body } = this.#exchange;
    if (body !== null) sendBody(body, stream, this.#meter, () => this.#breakOff("the visitor left"));
  }

  /**
   * Watches for the visitor leaving, once the answer lets itself be waited for: doing so for every request would cost
   * a third of the relay's time. A streamed answer notices by itself.
   */
  onBeat(): void {
    if (this.#answered || this.#watched) return;
    this.#watched = true;
    const { signal } = this.#exchange;
    // They may have left before the first beat.
    if (signal.aborted) return this.#breakOff("the visitor left");
    signal.addEventListener("abort", () => {
      if (!this.#answered) this.#breakOff("the visitor left");
    });
  }

  onResponse(
    status: number,
    frame: Uint8Array,
    headStart: number,
    headEnd: number,
    payloadEnd: number,
    end: boolean,
  ): void {
    this.#meter.meter(payloadEnd - headStart);
    this.#answered = true;
    if (status < 200 || status > 599) return this.#refuse(badAnswer(`Its status is ${status}.`));
    let headers: HeaderPairs;
    try {
      headers = parseResponseHead(frame, headStart, headEnd);
    } catch {
      return this.#refuse(badAnswer("Its headers are malformed."));
    }
    // What is left of the request is nobody's: a visitor who sends another behind it would be misread.
    if (this.#exchange.hasBody && !this.#stream!.localEnded) headers.push(["connection", "close"]);
    if (status === 205 && !this.#exchange.ends205) status = 204;
    if (this.#exchange.method === "HEAD") {
      return this.#answer(new Response(bodyOfHead(status, headers), { status, headers }));
    }
    const isEmpty = NULL_BODY.has(status) || (end && headEnd === payloadEnd);
    const body = isEmpty ? null : keepView(frame.subarray(headEnd, payloadEnd) as Uint8Array<ArrayBuffer>);
    if (isEmpty || end) return this.#answer(new Response(body, { status, headers }));
    this.#body = new ResponseBody(this.#stream!, this.#exchange.takesChunks);
    if (body !== null && body.length > 0) this.#body.push(body, false);
    this.#answer(new Response(this.#body.readable, { status, headers }));
  }

  onData(piece: Uint8Array<ArrayBuffer>, end: boolean): void {
    this.#meter.meter(piece.length);
    if (this.#body !== null) this.#body.push(keepView(piece), end);
    else if (piece.length > 0) this.#breakOff("a body where the answer can have none");
  }

  onReset(reason: ResetReason, text: string): void {
    // A session is also lost when the tunnel's traffic or time runs out.
    const over = reason === ResetReason.sessionLost ? this.#meter.gate() : null;
    if (!this.#answered) this.#refuse(over ?? fromReset(reason, text));
    else this.#body?.fail(text);
  }

  onMessage(): void {
    this.#breakOff("a WebSocket message on a plain request");
  }

  onClose(): void {
    this.onReset(ResetReason.broken, "");
  }

  /** Ends the stream from here, where nobody else tells this side of it. */
  #breakOff(text: string): void {
    this.#stream?.reset(ResetReason.cancelled, text);
    this.onReset(ResetReason.cancelled, text);
  }

  #refuse(error: HttpError): void {
    this.#answered = true;
    this.#stream?.reset(ResetReason.cancelled);
    this.#answer(errorResponse(error, this.#exchange.header("accept")));
  }
}

/** Nothing is sent either way, but to no body at all a listener gives the length 0, which is GET's then. */
function bodyOfHead(status: number, headers: HeaderPairs): ReadableStream | null {
  const hasLength = NULL_BODY.has(status) || headers.some(([name]) => name === "content-length");
  return hasLength ? null : new ReadableStream({ start: (controller) => controller.close() });
}

/** Sends a visitor's body as it arrives. A visitor who leaves in the middle ends the stream. */
async function sendBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  stream: MuxStream,
  meter: Meter,
  failed: () => void,
): Promise<void> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return stream.end();
      meter.meter(value.length);
      await stream.write(value);
      releaseMessage(value);
    }
  } catch (error) {
    if (!(error instanceof StreamEnded)) return failed();
    // Nobody wants the rest; where the visitor has left already there is nothing to cancel.
    await reader.cancel().catch(() => {});
  }
}

/** The body of a streamed answer: pieces wait here until the visitor takes them, and only then give credit back. */
class ResponseBody {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #stream: MuxStream;
  readonly #pieces: Uint8Array<ArrayBuffer>[] = [];
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  readonly #memory: ChunkMemory | null;
  /** The piece that was delivered last. */
  #delivered: Uint8Array<ArrayBuffer> | null = null;
  #ended = false;
  #over = false;
  #pulled: (() => void) | null = null;

  /** @param takesChunks whether a piece's memory can be given back once the next is asked for */
  constructor(stream: MuxStream, takesChunks: boolean) {
    this.#stream = stream;
    this.#memory = takesChunks ? createChunkMemory() : null;
    this.readable = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: () => {
        this.#over = true;
        stream.reset(ResetReason.cancelled, "the visitor left");
        this.#settlePull();
      },
    }, { highWaterMark: 0 });
  }

  push(piece: Uint8Array<ArrayBuffer>, end: boolean): void {
    this.#ended = end;
    if (piece.length > 0) this.#pieces.push(piece);
    // A pull that is answered with nothing would be the last: the reader waits on, and nobody asks again.
    if (this.#pulled !== null && (end || piece.length > 0)) this.#deliver();
  }

  /** Breaks the answer off: the visitor sees a cut connection, not a short body. */
  fail(text: string): void {
    if (this.#over || this.#ended) return;
    this.#over = true;
    this.#controller.error(new BodyCut(text));
    this.#settlePull();
  }

  #pull(): Promise<void> | void {
    if (this.#delivered !== null) this.#memory?.giveBack([this.#delivered]);
    this.#delivered = null;
    if (this.#pieces.length > 0 || this.#ended) return this.#deliver();
    return new Promise((resolve) => this.#pulled = resolve);
  }

  #deliver(): void {
    const piece = this.#pieces.shift();
    if (piece !== undefined && !this.#over) {
      const size = piece.length;
      this.#controller.enqueue(piece);
      this.#delivered = piece;
      this.#stream.consumed(size);
    }
    if (this.#ended && this.#pieces.length === 0 && !this.#over) {
      this.#over = true;
      this.#controller.close();
    }
    this.#settlePull();
  }

  #settlePull(): void {
    const pulled = this.#pulled;
    this.#pulled = null;
    pulled?.();
  }
}
