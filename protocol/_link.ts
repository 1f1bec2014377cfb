import { setImmediate } from "node:timers";
import { ByteBudget } from "./flow.ts";
import { OVERDRAFT } from "./limits.ts";
import { Mux, type MuxOptions } from "./mux.ts";
import type { GoAwayReason } from "./reasons.ts";
import type { MuxStream } from "./stream.ts";
import { type HeadWriter, Opening, type StreamHandler, type Transport } from "./types.ts";

/** One session direction in memory: messages wait here until the test delivers them. */
class Wire implements Transport {
  /** Messages that were sent and not delivered, oldest first. */
  readonly messages: Uint8Array[] = [];
  /** Whether `send` makes the sender wait until its message is delivered. */
  readonly slow: boolean;
  readonly #taken: (() => void)[] = [];

  constructor(slow: boolean) {
    this.slow = slow;
  }

  send(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): void | Promise<void> {
    this.messages.push(buffer.slice(start, end));
    // A reader that uses the buffer after the send reads this.
    if (!this.slow) buffer.fill(0xee, start, end);
    else return new Promise((resolve) => this.#taken.push(resolve));
  }

  /** Returns the oldest message; its sender continues. */
  take(): Uint8Array | undefined {
    const message = this.messages.shift();
    if (message !== undefined) this.#taken.shift()?.();
    return message;
  }
}

/** Options for a test session. */
export interface LinkOptions {
  slow?: boolean;
  maxStreams?: number;
  maxUpgrades?: number;
  now?: () => number;
  /** The overdraft for clients of the relay's process; by default enough for one. */
  overdraft?: ByteBudget;
  onOpen?: MuxOptions["onOpen"];
  onDefect?: (side: "relay" | "client", error: unknown) => void;
  onGoAway?: (side: "relay" | "client", reason: GoAwayReason, text: string) => void;
}

/** A relay's end and a client's end, connected by two wires that a test drives. */
export class Link {
  readonly toClient: Wire;
  readonly toRelay: Wire;
  readonly relay: Mux;
  readonly client: Mux;
  readonly overdraft: ByteBudget;
  /** Every `onEnd` from both sides. */
  readonly ends: { side: "relay" | "client"; reason: GoAwayReason; text: string }[] = [];

  constructor(options: LinkOptions = {}) {
    const { slow = false, maxStreams = 1000, maxUpgrades = 1000, now, onOpen, onGoAway, onDefect } = options;
    this.toClient = new Wire(slow);
    this.toRelay = new Wire(slow);
    const forSide = (side: "relay" | "client") => ({
      maxStreams,
      maxUpgrades,
      now,
      onDefect: onDefect && ((error: unknown) => onDefect(side, error)),
      onGoAway: (reason: GoAwayReason, text: string) => onGoAway?.(side, reason, text),
      onEnd: (reason: GoAwayReason, text: string) => this.ends.push({ side, reason, text }),
    });
    this.overdraft = options.overdraft ?? new ByteBudget(OVERDRAFT);
    this.relay = new Mux({ ...forSide("relay"), transport: this.toClient, overdraft: this.overdraft });
    this.client = new Mux({
      ...forSide("client"),
      transport: this.toRelay,
      onOpen: onOpen ?? (() => ignore()),
    });
  }

  /** Delivers the oldest message in one direction. Returns whether there was one. */
  deliver(direction: "toClient" | "toRelay"): boolean {
    const message = this[direction].take();
    if (message === undefined) return false;
    (direction === "toClient" ? this.client : this.relay).receive(message, 0, message.length);
    return true;
  }

  /** Delivers until all messages are delivered and no side writes. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3;) {
      await turn();
      const moved = [this.deliver("toClient"), this.deliver("toRelay")];
      quiet = moved.includes(true) ? 0 : quiet + 1;
    }
  }
}

/**
 * Creates a link whose client keeps the streams that it accepted.
 * @param handler receives the events of each stream
 */
export function createLink(
  options: LinkOptions = {},
  handler: Partial<StreamHandler> = {},
): { link: Link; asked: MuxStream[] } {
  const asked: MuxStream[] = [];
  const link = new Link({
    onOpen(stream) {
      asked.push(stream);
      return ignore(handler);
    },
    ...options,
  });
  return { link, asked };
}

/** Resolves after the current event loop iteration, including the outboxes' messages. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Returns a handler that ignores all events except the given ones. */
export const ignore = (some: Partial<StreamHandler> = {}): StreamHandler => ({
  onData() {},
  onReset() {},
  ...some,
});

/** Returns {@link ignore} for the relay's end, which receives responses. */
export const visitor = (some: Partial<StreamHandler> = {}): StreamHandler => ignore({ onResponse() {}, ...some });

/** A body without bytes. */
export const NOTHING = new Uint8Array(0);

/** Responds with a status and no body. */
export function answerEmpty(stream: MuxStream, end = true): void {
  stream.respond(200, NOTHING, 0, 0, NOTHING, 0, 0, end);
}

/** Returns `length` bytes that differ by position and by `seed`. */
export function patterned(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = (at * 31 + (at >> 8) * 7 + seed) & 0xff;
  return bytes;
}

/** Returns a writer for a head of Latin-1 text. */
export function writeText(text: string): HeadWriter {
  return {
    headSize: text.length,
    writeHead(into, at) {
      for (let index = 0; index < text.length; index++) into[at++] = text.charCodeAt(index);
      return at;
    },
  };
}

/** The shortest head of a request. */
export const HEAD_TEXT = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
/** {@link HEAD_TEXT} as bytes. */
export const HEAD = writeText(HEAD_TEXT);

/** Opens a request without a body. */
export const GET = Opening.bodyless;
/** Opens a request whose body follows. */
export const POST = Opening.withBody;
/** Opens a request for an upgrade. */
export const UPGRADING = Opening.upgrade;
