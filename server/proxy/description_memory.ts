import type { Exchange } from "../../common/listener/mod.ts";
import { busy } from "./gate.ts";

/** The memory that descriptions take, those of all callers together. */
export interface DescriptionMemory {
  /** For one description. Whoever opens it closes it. */
  open(): HeldMemory;
}

export interface HeldMemory {
  /** @throws HttpError 503 `busy` when all callers together hold too much; it holds nothing any more then */
  add(bytes: number): void;
  /** Gives all of it back. */
  close(): void;
}

/** As many fit of those that are as large as may be. */
const LARGEST_AT_A_TIME = 4;
/** A description of no more is no more of a burden than the connection that it comes on, and is not counted. */
const SMALL_BYTES = 64 * 1024;

/** Whether a body has announced to be so small that its memory is not counted. */
export function isSmall(exchange: Exchange): boolean {
  const announced = exchange.header("content-length");
  return announced !== null && Number(announced) <= SMALL_BYTES;
}

/** @param maxBytes of one description */
export function createDescriptionMemory(maxBytes: number): DescriptionMemory {
  let left = maxBytes * LARGEST_AT_A_TIME;

  return {
    open() {
      let counted = 0;
      let free = SMALL_BYTES;
      const close = () => {
        left += counted;
        counted = 0;
      };
      return {
        close,
        add(bytes) {
          const taken = Math.max(0, bytes - free);
          free -= bytes - taken;
          left -= taken;
          counted += taken;
          if (left >= 0) return;
          // At once: one that is refused makes room for the others.
          close();
          throw busy();
        },
      };
    },
  };
}
