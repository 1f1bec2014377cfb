import { decodeHuffman, sizeOfDecoded } from "./huffman.ts";
import { STATIC_TABLE, type TableField } from "./static_table.ts";

/** A field block that violates RFC 7541. No later block on the connection can be decoded. */
export class HpackError extends Error {
  override name = "HpackError";
}

/** Receives the fields of a block in their order. The bytes are valid during the call only. */
export type OnField = (name: Uint8Array, value: Uint8Array) => void;

/** Size of a table entry apart from its bytes (RFC 7541, section 4.1). */
const OVERHEAD = 32;
/** The largest useful integer: lengths refer to received bytes, indexes to a few hundred fields. */
const MAX_INTEGER = 2 ** 28;

/** Decodes the field blocks of one connection in their order, because each may change the meaning of later ones. */
export class HpackDecoder {
  /** Largest dynamic table in bytes, as announced to the peer. */
  readonly #allowed: number;
  #maxSize: number;
  #size = 0;
  /** The dynamic table with the newest field at the end. */
  readonly #fields: TableField[] = [];
  #bytes: Uint8Array = NOTHING;
  #at = 0;
  #end = 0;
  #scratch = NOTHING;
  #used = 0;

  /** @param tableSize largest dynamic table in bytes; 4096 unless another size was announced */
  constructor(tableSize = 4096) {
    this.#allowed = this.#maxSize = tableSize;
  }

  /**
   * Decodes the complete block `bytes[start, end)`.
   * @throws HpackError, after which the connection must end
   */
  decode(bytes: Uint8Array, start: number, end: number, onField: OnField): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#used = 0;
    const room = sizeOfDecoded(end - start);
    if (this.#scratch.length < room) this.#scratch = new Uint8Array(room);
    let isFirst = true;
    while (this.#at < end) {
      const first = bytes[this.#at];
      if ((first & 0xe0) === 0x20) {
        if (!isFirst) throw new HpackError("a table size after a field");
        this.#resize(this.#readInteger(0x1f));
        continue;
      }
      isFirst = false;
      if ((first & 0x80) !== 0) {
        const { name, value } = this.#find(this.#readInteger(0x7f));
        onField(name, value);
        continue;
      }
      const isKept = (first & 0x40) !== 0;
      const index = this.#readInteger(isKept ? 0x3f : 0x0f);
      const name = index === 0 ? this.#readText() : this.#find(index).name, value = this.#readText();
      onField(name, value);
      if (isKept) this.#keep(name, value);
    }
    this.#bytes = NOTHING;
    // An idle connection keeps no large buffer.
    if (this.#scratch.length > KEPT_SCRATCH) this.#scratch = NOTHING;
  }

  #find(index: number): TableField {
    const field = index <= STATIC_TABLE.length
      ? STATIC_TABLE[index - 1]
      : this.#fields[this.#fields.length - (index - STATIC_TABLE.length)];
    if (field === undefined) throw new HpackError(`no field has the index ${index}`);
    return field;
  }

  #resize(size: number): void {
    if (size > this.#allowed) throw new HpackError(`a table of ${size} bytes`);
    this.#maxSize = size;
    this.#evict(size);
  }

  #keep(name: Uint8Array, value: Uint8Array): void {
    const size = name.length + value.length + OVERHEAD;
    this.#evict(Math.max(0, this.#maxSize - size));
    if (size > this.#maxSize) return;
    // A copy, because the source buffer is used again. One buffer holds both.
    const both = new Uint8Array(name.length + value.length);
    both.set(name);
    both.set(value, name.length);
    this.#fields.push({ name: both.subarray(0, name.length), value: both.subarray(name.length) });
    this.#size += size;
  }

  /** Drops the oldest fields until the table has at most `size` bytes. */
  #evict(size: number): void {
    let dropped = 0;
    for (; this.#size > size; dropped++) {
      const { name, value } = this.#fields[dropped];
      this.#size -= name.length + value.length + OVERHEAD;
    }
    if (dropped > 0) this.#fields.splice(0, dropped);
  }

  /** Reads an integer whose first bits are in `mask` (RFC 7541, section 5.1). */
  #readInteger(mask: number): number {
    let value = this.#next() & mask;
    if (value < mask) return value;
    for (let unit = 1;; unit *= 128) {
      const byte = this.#next();
      value += (byte & 0x7f) * unit;
      if (value > MAX_INTEGER || unit > MAX_INTEGER) throw new HpackError("an integer is too large");
      if ((byte & 0x80) === 0) return value;
    }
  }

  #next(): number {
    if (this.#at >= this.#end) throw new HpackError("a field is cut short");
    return this.#bytes[this.#at++];
  }

  /** Reads a string (RFC 7541, section 5.2). */
  #readText(): Uint8Array {
    const isCoded = (this.#bytes[this.#at] & 0x80) !== 0, length = this.#readInteger(0x7f);
    const start = this.#at, end = start + length;
    if (end > this.#end) throw new HpackError("a string is cut short");
    this.#at = end;
    if (!isCoded) return this.#bytes.subarray(start, end);
    const from = this.#used, to = decodeHuffman(this.#bytes, start, end, this.#scratch, from);
    if (to < 0) throw new HpackError("a string has an invalid Huffman code");
    this.#used = to;
    return this.#scratch.subarray(from, to);
  }
}

const NOTHING = new Uint8Array(0);
const KEPT_SCRATCH = 2048;
