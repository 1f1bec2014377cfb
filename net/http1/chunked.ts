import { COLON, CR, describeByte, LF, TOKEN_BYTES, VALUE_BYTES } from "./field_lines.ts";
import { ResponseSyntaxError } from "./response_head.ts";
import { dropForbiddenTrailers } from "./trailer_fields.ts";

/** Limit for a chunk size with its extensions, in bytes. Extensions are rare; a signature fits. */
export const MAX_CHUNK_LINE = 4 * 1024;

/** Limit for the trailer section with its last CRLF, in bytes. */
export const MAX_TRAILERS = 16 * 1024;

/** Decodes the chunked transfer encoding (RFC 9112, section 7.1) for a body that arrives in parts. */
export interface ChunkedDecoder {
  /**
   * Takes the next bytes and passes their data on as parts of `bytes`, without copies. Checks and drops extensions.
   * @returns the number of taken bytes, smaller than the given number only if the body ends within them
   * @throws ResponseSyntaxError for malformed input; the decoder is unusable afterwards
   */
  push(bytes: Uint8Array, emit: (data: Uint8Array) => void): number;
  /** Whether the whole body has been taken, with trailers. */
  readonly done: boolean;
  /** The allowed field lines after the body, each with its CRLF. Complete once {@link done}. */
  readonly trailers: Uint8Array<ArrayBuffer>;
}

/** Creates a decoder for one body. */
export function createChunkedDecoder(): ChunkedDecoder {
  return new Decoder();
}

/** The element that the next byte must belong to. */
type State =
  | "size"
  | "extension"
  | "size LF"
  | "data"
  | "data CR"
  | "data LF"
  | "trailer"
  | "trailer name"
  | "trailer value"
  | "trailer LF"
  | "last LF"
  | "done";

const NOTHING = new Uint8Array(0);
const SEMICOLON = 0x3b;

class Decoder implements ChunkedDecoder {
  #state: State = "size";
  /** Remaining data bytes in the chunk. */
  #left = 0;
  /** Bytes so far in the chunk line or the trailers. */
  #taken = 0;
  #trailers: number[] | null = null;

  get trailers(): Uint8Array<ArrayBuffer> {
    return this.#trailers === null ? NOTHING : dropForbiddenTrailers<ArrayBuffer>(Uint8Array.from(this.#trailers));
  }

  get done(): boolean {
    return this.#state === "done";
  }

  push(bytes: Uint8Array, emit: (data: Uint8Array) => void): number {
    let at = 0;
    while (at < bytes.length && this.#state !== "done") {
      if (this.#state === "data") at = this.#takeData(bytes, at, emit);
      else this.#state = this.#takeByte(bytes[at++], this.#state);
    }
    return at;
  }

  #takeData(bytes: Uint8Array, at: number, emit: (data: Uint8Array) => void): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = "data CR";
    emit(bytes.subarray(at, end));
    return end;
  }

  #takeByte(byte: number, state: Exclude<State, "data" | "done">): State {
    switch (state) {
      case "size":
        return this.#takeSize(byte);
      case "extension":
        return this.#takeExtension(byte);
      case "size LF":
        expect(byte, LF, "after the size of a chunk");
        return this.#endChunkLine();
      case "data CR":
        expect(byte, CR, "after the data of a chunk");
        return "data LF";
      case "data LF":
        expect(byte, LF, "after the data of a chunk");
        return "size";
      default:
        return this.#takeTrailer(byte, state);
    }
  }

  #takeSize(byte: number): State {
    const digit = hexDigit(byte);
    if (digit < 0) return this.#endSize(byte);
    this.#count(MAX_CHUNK_LINE, "the line of a chunk's size");
    this.#left = this.#left * 16 + digit;
    if (this.#left > Number.MAX_SAFE_INTEGER) throw new ResponseSyntaxError("a chunk is larger than 2^53-1 bytes");
    return "size";
  }

  #endSize(byte: number): State {
    if (this.#taken > 0 && byte === CR) return "size LF";
    if (this.#taken > 0 && byte === SEMICOLON) return "extension";
    throw new ResponseSyntaxError(`${describeByte(byte)} in the size of a chunk`);
  }

  #takeExtension(byte: number): State {
    if (byte === CR) return "size LF";
    this.#count(MAX_CHUNK_LINE, "the line of a chunk's size");
    if (VALUE_BYTES[byte] === 1) return "extension";
    throw new ResponseSyntaxError(`${describeByte(byte)} in the extension of a chunk`);
  }

  #endChunkLine(): State {
    this.#taken = 0;
    return this.#left > 0 ? "data" : "trailer";
  }

  #takeTrailer(byte: number, state: State): State {
    this.#count(MAX_TRAILERS, "the trailer section");
    if ((state !== "trailer" || byte !== CR) && state !== "last LF") (this.#trailers ??= []).push(byte);
    switch (state) {
      case "trailer":
        if (byte === CR) return "last LF";
        if (TOKEN_BYTES[byte] === 1) return "trailer name";
        throw new ResponseSyntaxError(`a trailer starts with ${describeByte(byte)}`);
      case "trailer name":
        if (byte === COLON) return "trailer value";
        if (TOKEN_BYTES[byte] === 1) return "trailer name";
        throw new ResponseSyntaxError(`${describeByte(byte)} in the name of a trailer`);
      case "trailer value":
        if (byte === CR) return "trailer LF";
        if (VALUE_BYTES[byte] === 1) return "trailer value";
        throw new ResponseSyntaxError(`${describeByte(byte)} in the value of a trailer`);
      default:
        expect(byte, LF, "after a trailer");
        return state === "last LF" ? "done" : "trailer";
    }
  }

  /** Counts a byte in a line with a limit. */
  #count(limit: number, what: string): void {
    if (++this.#taken > limit) throw new ResponseSyntaxError(`${what} is longer than ${limit} bytes`);
  }
}

function expect(byte: number, wanted: number, where: string): void {
  if (byte !== wanted) throw new ResponseSyntaxError(`${describeByte(byte)} ${where}, not CRLF`);
}

/** Returns the value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
