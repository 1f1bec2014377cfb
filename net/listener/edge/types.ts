import type { Connection } from "../../connection/mod.ts";
import type { RequestHead } from "../../http1/mod.ts";
import type { ListenerTraffic } from "../traffic.ts";

/** What an exchange, its body and its answer ask of the connection they are on. */
export interface Line {
  /** The head that was read last. */
  readonly head: RequestHead;
  readonly remoteAddress: string;
  readonly secure: boolean;
  /** Where answers are counted. */
  readonly traffic: ListenerTraffic | null;
  /** Whether it was taken although there was no room, for what must get in. */
  readonly isOverLimit: boolean;
  /** Whether the listener stops, so that this answer is the connection's last. */
  readonly isClosing: boolean;
  /** The connection ends with this answer. */
  mustClose: boolean;
  /** The bytes that came with the head and are not taken yet. */
  readonly rest: Uint8Array<ArrayBuffer>;
  /** Takes `count` of {@link rest}. */
  takeRest(count: number): void;
  /** Reads more of a body. @throws BodyCut when the visitor has left */
  readBody(into: Uint8Array): Promise<number>;
  /**
   * The body has been read to its end. What follows is the next head, or the visitor leaving.
   * @param memory of the body, given over, when `memory[at, end)` came behind it
   */
  bodyEnded(memory: Uint8Array<ArrayBuffer> | null, at: number, end: number): void;
  /** Writes, with the clock on it. Never rejects: what cannot be written means that the visitor has gone. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * As {@link write}, of the end of the exchange's answer, which is over behind it.
   * @param memory that `bytes` lie in, to be given back then
   */
  writeLast(bytes: Uint8Array, memory: Uint8Array<ArrayBuffer>): void;
  /** The answer is out. */
  exchangeOver(exchange: Answered): void;
  /** Breaks an answer off. */
  cut(exchange: Answered): void;
  /** Hands the connection over, with what has been read of it. */
  upgrade(): Connection;
  /** Ends it at once. */
  close(): void;
}

/** What an answer asks of its exchange. */
export interface Answered {
  /** Whether the answer's body stays behind. */
  readonly isHead: boolean;
  /** Whether the connection goes on without it, or has ended. */
  readonly hasSettled: boolean;
  readonly input: {
    /** Whether what has been read holds the rest of the request's body. */
    readonly isHere: boolean;
  } | null;
}
