import { Buffer } from "node:buffer";
import { HttpError } from "../../common/http_error.ts";

/** The first part of a multipart body, and everything after it. */
export interface FirstPart {
  name: string;
  text: string;
  /** The rest, from the next delimiter on: a multipart body of its own, with the same boundary. */
  rest: AsyncGenerator<Uint8Array>;
  /** How many bytes came before the rest. */
  consumedBytes: number;
}

/**
 * Takes the first part off a multipart body (RFC 7578, RFC 2046 section 5.1) and leaves the rest unread.
 * @param maxBytes that the part may have, its head included
 * @throws HttpError 400 `form_invalid`, 413 `description_too_large`
 */
export async function readFirstPart(
  body: AsyncGenerator<Uint8Array>,
  boundary: string,
  maxBytes: number,
): Promise<FirstPart> {
  const opening = Buffer.from(`--${boundary}\r\n`);
  const closing = Buffer.from(`\r\n--${boundary}`);
  let seen: Buffer = Buffer.alloc(0);
  let searchedTo = 0;
  while (true) {
    const at = seen.byteLength < opening.byteLength
      ? -1
      : seen.indexOf(closing, Math.max(searchedTo, opening.length - 2));
    if (at > maxBytes || (at === -1 && seen.byteLength > maxBytes)) {
      throw new HttpError(413, "description_too_large", `The describing part is larger than ${maxBytes} bytes.`);
    }
    if (at !== -1) {
      if (!seen.subarray(0, opening.length).equals(opening)) throw invalidForm("does not start with its boundary");
      const part = parsePart(seen.subarray(opening.length, at));
      // The line end belongs to the delimiter and goes with the part that is taken off.
      const consumedBytes = at + 2;
      return { ...part, rest: chain(seen.subarray(consumedBytes), body), consumedBytes };
    }
    searchedTo = Math.max(0, seen.byteLength - closing.byteLength);
    const next = await body.next();
    if (next.done) throw invalidForm("ends inside its first part");
    seen = Buffer.concat([seen, next.value]);
  }
}

function parsePart(part: Buffer): { name: string; text: string } {
  // A part without headers begins with the empty line itself.
  const headEnd = part.indexOf("\r\n\r\n");
  if (headEnd === -1) throw invalidForm("has a first part without an end of its head");
  const head = part.subarray(0, headEnd).toString("utf8");
  const disposition = /^content-disposition:[ \t]*form-data\b(.*)$/im.exec(head)?.[1] ?? "";
  const name = /;[ \t]*name=(?:"([^"]*)"|([^\s;"]+))/i.exec(disposition);
  return { name: name?.[1] ?? name?.[2] ?? "", text: part.subarray(headEnd + 4).toString("utf8") };
}

async function* chain(first: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    yield* rest;
  } finally {
    // Reached also when the target takes no more: then the rest of the upload is let go of.
    await rest.return(undefined);
  }
}

function invalidForm(reason: string): HttpError {
  return new HttpError(400, "form_invalid", `The form ${reason}.`);
}
