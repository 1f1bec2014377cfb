import { MAX_FIELDS, type RequestHead, RequestSyntaxError } from "../../common/http1/mod.ts";

/**
 * Reads `frame[start, end)` into `head`, which must be one whole head as a relay writes it and nothing else: HTTP/1.1, a
 * path, `host` first of the fields. Whatever two readers could read differently goes no further, whoever sent it.
 * @throws RequestSyntaxError for all else, and for more than {@link MAX_FIELDS} fields
 */
export function readRequestHead(head: RequestHead, frame: Uint8Array, start: number, end: number): void {
  const isWhole = head.parse(frame, start, end, MAX_FIELDS);
  if (!isWhole) throw new RequestSyntaxError("The head is cut short.");
  if (head.end !== end) throw new RequestSyntaxError("There are bytes after the blank line.");
  if (head.minorVersion !== 1) throw new RequestSyntaxError("HTTP/1.1 is wanted.", 505);
  if (head.targetStart !== head.methodEnd + 1) throw new RequestSyntaxError("The request target must be a path.");
  if (!head.isNamed(0, "host")) throw new RequestSyntaxError("The first field must be the host.");
}
