import { Buffer } from "node:buffer";
import type { CountedTexts } from "./flight.ts";
import type { LinkRewriter } from "./link_rewriter.ts";

/** Rewrites a body in pieces, but for texts in it that are counted. */
export class BodyRewriter {
  readonly #links: LinkRewriter;
  readonly #counted: CountedTexts | null;

  constructor(links: LinkRewriter, counted: CountedTexts | null) {
    this.#links = links;
    this.#counted = counted;
  }

  /** What can go on after these bytes: a part of them, where there is nothing to change, or memory of its own. */
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

  /** What was held, once there is no more. */
  end(): Uint8Array {
    return this.#links.end();
  }
}
