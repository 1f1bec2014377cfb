import { decodeHuffman, sizeOfDecoded } from "./huffman.ts";
import { STATIC_TABLE, type TableField } from "./static_table.ts";

/** A field block that breaks RFC 7541: nothing behind it on the connection can be read. */
export class HpackError extends Error {
  override name = "HpackError";
}

/** Told of a block's fields in their order. The bytes are good during the call only. */
export type OnField = (name: Uint8Array, value: Uint8Array) => void;

/** What a field costs in the table besides its bytes (RFC 7541, section 4.1). */
const OVERHEAD = 32;
/** No integer needs more: lengths are those of bytes that are here, and indexes those of some hundred fields. */
const MAX_INTEGER = 2 ** 28;

/** Reads the field blocks of one connection, which must come in their order: each may change what the next ones mean. */
export class HpackDecoder {
  /** What the peer was told that the dynamic table may hold, in bytes. */
  readonly #allowed: number;
  #maxSize: number;
  #size = 0;
  /** The dynamic table, the field that came last at the end. */
  readonly #fields: TableField[] = [];
  #bytes: Uint8Array = NOTHING;
  #at = 0;
  #end = 0;
  #scratch = NOTHING;
  #used = 0;

  /** @param tableSize what the peer may have the dynamic table hold, in bytes; 4096 where it is told of nothing else */
  constructor(tableSize = 4096) {
    this.#allowed = this.#maxSize = tableSize;
  }

  /**
   * Reads the block `bytes[start, end)`, which is whole.
   * @throws HpackError; the connection is of no use then
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
        if (!isFirst) throw new HpackError("a table size behind a field");
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
    // What a long block needed is not held by a connection that is idle.
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
    // One piece of memory for both, as what they are read from is used again.
    const both = new Uint8Array(name.length + value.length);
    both.set(name);
    both.set(value, name.length);
    this.#fields.push({ name: both.subarray(0, name.length), value: both.subarray(name.length) });
    this.#size += size;
  }

  /** Drops the oldest until the table holds no more than `size` bytes. */
  #evict(size: number): void {
    let dropped = 0;
    for (; this.#size > size; dropped++) {
      const { name, value } = this.#fields[dropped];
      this.#size -= name.length + value.length + OVERHEAD;
    }
    if (dropped > 0) this.#fields.splice(0, dropped);
  }

  /** An integer whose first bits are those of `mask` (RFC 7541, section 5.1). */
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

  /** A text (RFC 7541, section 5.2). */
  #readText(): Uint8Array {
    const isCoded = (this.#bytes[this.#at] & 0x80) !== 0, length = this.#readInteger(0x7f);
    const start = this.#at, end = start + length;
    if (end > this.#end) throw new HpackError("a text is cut short");
    this.#at = end;
    if (!isCoded) return this.#bytes.subarray(start, end);
    const from = this.#used, to = decodeHuffman(this.#bytes, start, end, this.#scratch, from);
    if (to < 0) throw new HpackError("a text is no Huffman code");
    this.#used = to;
    return this.#scratch.subarray(from, to);
  }
}

const NOTHING = new Uint8Array(0);
const KEPT_SCRATCH = 2048;
