import { CR, LF } from "../../common/http1/mod.ts";
import { copyBytes } from "../../protocol/mod.ts";
import { createWebSocketKey } from "./websocket.ts";
import type { TunnelRequest } from "./target.ts";

/** A head ready for the local service. */
export interface WrittenHead {
  head: Uint8Array;
  /** The key that a WebSocket handshake was written with, else "". */
  webSocketKey: string;
}

/** Rewrites the few lines of a request's head that change on the way to the local service; the rest stays as it is. */
export class RequestHeadWriter {
  readonly #hostLine: Uint8Array | null;

  /** @param hostHeader the Host that the service sees, or null for the visitor's own */
  constructor(hostHeader: string | null) {
    this.#hostLine = hostHeader === null ? null : ENCODER.encode(`host: ${hostHeader}\r\n`);
  }

  /** @param scratch memory for the head, used when it is large enough; it must not change until it has been sent */
  write(request: TunnelRequest, scratch: Uint8Array): WrittenHead {
    const { frame, start, head } = request;
    const webSocketKey = request.webSocket ? createWebSocketKey() : "";
    const added = this.#addedLines(request, webSocketKey);
    const hostLine = this.#hostLine ?? frame.subarray(head.lineEnd, head.hostEnd);
    // The blank line at the end goes behind the added lines.
    const fieldsEnd = request.end - 2;
    const lineSize = head.lineEnd - start, fieldsSize = fieldsEnd - head.hostEnd;
    const size = lineSize + hostLine.length + fieldsSize + added.length + 2;
    const written = size <= scratch.length ? scratch.subarray(0, size) : new Uint8Array(size);
    copyBytes(frame, start, head.lineEnd, written, 0);
    copyBytes(hostLine, 0, hostLine.length, written, lineSize);
    copyBytes(frame, head.hostEnd, fieldsEnd, written, lineSize + hostLine.length);
    copyBytes(added, 0, added.length, written, size - added.length - 2);
    written[size - 2] = CR;
    written[size - 1] = LF;
    return { head: written, webSocketKey };
  }

  #addedLines({ webSocket, bodyless, head }: TunnelRequest, key: string): Uint8Array {
    if (webSocket) {
      return ENCODER.encode(
        `connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n`,
      );
    }
    if (bodyless || head.contentLength >= 0 || head.hasTransferEncoding) return NOTHING;
    return CHUNKED;
  }
}

const ENCODER = new TextEncoder();
const NOTHING = new Uint8Array(0);
const CHUNKED = ENCODER.encode("transfer-encoding: chunked\r\n");
