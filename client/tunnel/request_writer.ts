import { CR, LF, type RequestHead } from "../../common/http1/mod.ts";
import { copyBytes } from "../../protocol/mod.ts";
import { type Addresses, applyEdits, type Edit } from "./addresses.ts";
import type { TunnelRequest } from "./target.ts";

/** What of a visitor's head the service sees changed. */
export interface RequestHeadWriterOptions {
  /** The Host that the service sees, or null for the visitor's own. */
  hostHeader: string | null;
  /** What else must agree with it. */
  addresses: Addresses | null;
}

/** Rewrites the few lines of a request's head that change on the way to the local service; the rest stays as it is. */
export class RequestHeadWriter {
  readonly #hostLine: Uint8Array | null;
  readonly #addresses: Addresses | null;

  constructor({ hostHeader, addresses }: RequestHeadWriterOptions) {
    this.#hostLine = hostHeader === null ? null : ENCODER.encode(`host: ${hostHeader}\r\n`);
    this.#addresses = addresses;
  }

  /**
   * @param scratch memory for the head, used when it is large enough; it must not change until it has been sent
   * @param more values that change besides; of others than those that must agree with the Host
   */
  write(request: TunnelRequest, scratch: Uint8Array | null, more: readonly Edit[] = NO_EDITS): Uint8Array {
    const { bytes, start, end, fieldsStart } = request.head;
    const edits = this.#addresses?.editRequest(request.head) ?? NO_EDITS;
    if (edits.length > 0 || more.length > 0) return this.#writeEdited(request, edits, more);
    const added = addedLine(request);
    const hostLine = this.#hostLine, hostEnd = hostLineEnd(request.head);
    const hostSize = hostLine === null ? hostEnd - fieldsStart : hostLine.length;
    // The blank line at the end goes behind the added line.
    const fieldsEnd = end - 2;
    const lineSize = fieldsStart - start, fieldsAt = lineSize + hostSize;
    const size = fieldsAt + fieldsEnd - hostEnd + added.length + 2;
    const written = scratch !== null && size <= scratch.length ? scratch.subarray(0, size) : new Uint8Array(size);
    copyBytes(bytes, start, fieldsStart, written, 0);
    if (hostLine === null) copyBytes(bytes, fieldsStart, hostEnd, written, lineSize);
    else copyBytes(hostLine, 0, hostSize, written, lineSize);
    copyBytes(bytes, hostEnd, fieldsEnd, written, fieldsAt);
    copyBytes(added, 0, added.length, written, size - added.length - 2);
    written[size - 2] = CR;
    written[size - 1] = LF;
    return written;
  }

  #writeEdited(request: TunnelRequest, edits: readonly Edit[], more: readonly Edit[]): Uint8Array {
    const { bytes, start, end, fieldsStart } = request.head;
    const all = [...edits, ...more].sort((one, other) => one.start - other.start);
    if (this.#hostLine !== null) {
      all.unshift({ start: fieldsStart, end: hostLineEnd(request.head), bytes: this.#hostLine });
    }
    const added = addedLine(request);
    if (added.length > 0) all.push({ start: end - 2, end: end - 2, bytes: added });
    return applyEdits(bytes, start, end, all);
  }
}

/** Offset behind the `host` line, which is the first one. */
function hostLineEnd(head: RequestHead): number {
  return head.valueEnd(0) + 2;
}

const ENCODER = new TextEncoder();
const NOTHING = new Uint8Array(0);
const NO_EDITS: readonly Edit[] = [];
const CHUNKED = ENCODER.encode("transfer-encoding: chunked\r\n");

/** A body without a length travels in chunks. */
function addedLine({ bodyless, upgrade, head }: TunnelRequest): Uint8Array {
  return bodyless || upgrade || head.hasLength || head.framing === "chunked" ? NOTHING : CHUNKED;
}
