import type { RequestHead } from "../../net/http1/mod.ts";
import type { RequestStream, ResetReason, Stream, StreamHandler } from "../../protocol/mod.ts";
import type { Target } from "./target.ts";

/**
 * Observes the exchanges of a tunnel. A tap cannot change or delay them, and its errors reach
 * only {@link onError}. Byte views are valid during the call only.
 */
export interface Tap {
  /** A request arrived. Returns the observer of this exchange, or null to ignore it. */
  onRequest(head: RequestHead, upgrade: boolean): ExchangeTap | null;
  /** A tap threw; its exchange is no longer observed. */
  onError(error: unknown): void;
}

/** Observes one exchange. After a 101 the chunks are the bytes of the upgraded connection. */
export interface ExchangeTap {
  /** A chunk of the request's body. */
  onRequestData?(chunk: Uint8Array, end: boolean): void;
  /** The trailers of the request, as field lines. They end its body. */
  onRequestTrailers?(lines: Uint8Array): void;
  /** A response or interim response: the block is its reason phrase, CRLF and field lines. */
  onResponse?(status: number, block: Uint8Array): void;
  /** A chunk of the response's body. */
  onResponseData?(chunk: Uint8Array, end: boolean): void;
  /** The trailers of the response, as field lines. They end its body. */
  onResponseTrailers?(lines: Uint8Array): void;
  /** The exchange has ended. No further call follows. */
  onEnd?(reason: ResetReason): void;
}

/** Returns a target that handles requests as `target` does and reports them to `tap`. */
export function tapTarget(target: Target, tap: Tap): Target {
  return {
    name: target.name,
    accept: target.accept?.bind(target),
    close: () => target.close(),
    handle(request) {
      const observer = observe(tap, request.head, request.upgrade);
      if (observer === null) return target.handle(request);
      const stream = new TappedStream(request.stream, observer);
      return tapHandler(target.handle({ ...request, stream }), observer);
    },
  };
}

/** Calls the tap of one exchange until it throws. */
class Observer {
  #tap: ExchangeTap | null;
  readonly #onError: (error: unknown) => void;

  constructor(tap: ExchangeTap, onError: (error: unknown) => void) {
    this.#tap = tap;
    this.#onError = onError;
  }

  notify(call: (tap: ExchangeTap) => void): void {
    if (this.#tap === null) return;
    try {
      call(this.#tap);
    } catch (error) {
      this.#tap = null;
      this.#onError(error);
    }
  }
}

function observe(tap: Tap, head: RequestHead, upgrade: boolean): Observer | null {
  try {
    const exchange = tap.onRequest(head, upgrade);
    return exchange === null ? null : new Observer(exchange, (error) => tap.onError(error));
  } catch (error) {
    tap.onError(error);
    return null;
  }
}

function tapHandler(handler: StreamHandler, observer: Observer): StreamHandler {
  return {
    onData(chunk, end) {
      observer.notify((tap) => tap.onRequestData?.(chunk, end));
      handler.onData(chunk, end);
    },
    onTrailers(frame, start, end) {
      observer.notify((tap) => tap.onRequestTrailers?.(frame.subarray(start, end)));
      if (handler.onTrailers === undefined) handler.onData(NO_BYTES, true);
      else handler.onTrailers(frame, start, end);
    },
    onBeat: () => handler.onBeat?.(),
    onReset: (reason, text) => handler.onReset(reason, text),
  };
}

const NO_BYTES = new Uint8Array(0);

/** Delegates to a stream and reports the response that passes through it. */
class TappedStream implements RequestStream {
  onFinish: (() => void) | null;
  readonly #stream: RequestStream;
  readonly #observer: Observer;
  /** The target has ended its direction. */
  #isComplete = false;

  constructor(stream: RequestStream, observer: Observer) {
    this.#stream = stream;
    this.#observer = observer;
    this.onFinish = stream.onFinish;
    stream.onFinish = () => {
      this.onFinish?.();
      observer.notify((tap) => tap.onEnd?.(stream.ended!));
    };
  }

  get ended(): Stream["ended"] {
    return this.#stream.ended;
  }

  get carried(): number {
    return this.#stream.carried;
  }

  get room(): number {
    return this.#stream.room;
  }

  get status(): number {
    return this.#stream.status;
  }

  get resetText(): string {
    return this.#stream.resetText;
  }

  get onUpgrade(): (() => void) | null {
    return this.#stream.onUpgrade;
  }

  set onUpgrade(listener: (() => void) | null) {
    this.#stream.onUpgrade = listener;
  }

  whenRoom(): Promise<void> {
    return this.#stream.whenRoom();
  }

  send(bytes: Uint8Array, start: number, end: number, last = false): number {
    const { room } = this, to = Math.min(end, start + room);
    if (to > start && this.ended === null) this.#reportData(bytes.subarray(start, to), last && to === end);
    return this.#stream.send(bytes, start, end, last);
  }

  write(bytes: Uint8Array, end = false): Promise<void> {
    // Before the write: with the last bytes the stream may end, and no report follows its end.
    this.#reportData(bytes, end);
    return this.#stream.write(bytes, end);
  }

  end(trailers: Uint8Array = NO_BYTES): void {
    if (trailers.length === 0) this.#reportData(NO_BYTES, true);
    else if (!this.#isComplete) this.#observer.notify((tap) => tap.onResponseTrailers?.(trailers));
    this.#stream.end(trailers);
  }

  consumed(bytes: number): void {
    this.#stream.consumed(bytes);
  }

  reset(reason: ResetReason, text?: string): void {
    this.#stream.reset(reason, text);
  }

  inform(status: number, block: Uint8Array, start: number, end: number): void {
    this.#observer.notify((tap) => tap.onResponse?.(status, block.subarray(start, end)));
    this.#stream.inform(status, block, start, end);
  }

  respond(...args: Parameters<RequestStream["respond"]>): void {
    const [status, block, blockStart, blockEnd, body, bodyStart, bodyEnd, end] = args;
    this.#observer.notify((tap) => tap.onResponse?.(status, block.subarray(blockStart, blockEnd)));
    if (bodyEnd > bodyStart || end) this.#reportData(body.subarray(bodyStart, bodyEnd), end);
    this.#stream.respond(...args);
  }

  mayRespond(bytes: number): boolean {
    return this.#stream.mayRespond(bytes);
  }

  expect(bytes: number): void {
    this.#stream.expect(bytes);
  }

  #reportData(chunk: Uint8Array, end: boolean): void {
    if (this.#isComplete) return;
    this.#isComplete = end;
    this.#observer.notify((tap) => tap.onResponseData?.(chunk, end));
  }
}
