/** A piece of memory that is written from its start on, numbers with their low byte first as zip has them. */
export class ZipBlock {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  /** Bytes written. */
  length = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.#view = new DataView(this.bytes.buffer);
  }

  /** Bytes that still fit. */
  get room(): number {
    return this.bytes.length - this.length;
  }

  get written(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length);
  }

  /** Adds 16 bits, the lowest byte first. */
  u16(value: number): void {
    this.#view.setUint16(this.length, value, true);
    this.length += 2;
  }

  /** Adds 32 bits, the lowest byte first. */
  u32(value: number): void {
    this.#view.setUint32(this.length, value, true);
    this.length += 4;
  }

  /** Adds 64 bits of a number up to 2^53, the lowest byte first. */
  u64(value: number): void {
    this.#view.setBigUint64(this.length, BigInt(value), true);
    this.length += 8;
  }

  /** Adds bytes as they are. */
  add(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }
}
