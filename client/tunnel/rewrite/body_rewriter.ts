import { Buffer } from "node:buffer";
import type { CountedTexts } from "./flight.ts";
import type { LinkRewriter } from "./link_rewriter.ts";

/** Rewrites a body in chunks, except counted texts. */
export class BodyRewriter {
  readonly #links: LinkRewriter;
  readonly #counted: CountedTexts | null;

  constructor(links: LinkRewriter, counted: CountedTexts | null) {
    this.#links = links;
    this.#counted = counted;
  }

  /** Returns the bytes that can pass now: a view for unchanged bytes, otherwise a new array. */
  push(bytes: Uint8Array): Uint8Array {
    if (this.#counted === null) return this.#links.push(bytes);
    let isCounted = this.#counted.isCounted, from = 0;
    const changes = this.#counted.scan(bytes), passed: Uint8Array[] = [];
    for (const to of [...changes, bytes.length]) {
      const part = bytes.subarray(from, to);
      if (part.length > 0) passed.push(isCounted ? this.#links.pass(part) : this.#links.push(part));
      isCounted = !isCounted;
      from = to;
    }
    return passed.length === 1 ? passed[0] : Buffer.concat(passed);
  }

  /** Returns the held bytes at the end of the body. */
  end(): Uint8Array {
    return this.#links.end();
  }
}
