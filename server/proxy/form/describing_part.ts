import { HttpError } from "../../../common/http_error.ts";
import { FormLexer, parsePart } from "./lexer.ts";
import { GrowingBytes } from "../describe/description_bytes.ts";

/** A multipart body without the describing part. */
export interface DescribedForm {
  /** The describing part's content. */
  text: string;
  /** All other parts, byte for byte: a multipart body with the same boundary. */
  rest: AsyncGenerator<Uint8Array>;
  /** How many bytes the removal saved. */
  removedBytes: number;
}

/** How to find the describing part, and the memory limit for that. */
export interface DescribingPartOptions {
  boundary: string;
  /** Names that the describing part may have. */
  names: readonly string[];
  /** Whether other parts may precede it. They stay in memory until it arrives. */
  anywhere: boolean;
  /** For all parts up to the describing part's end. */
  maxBytes: number;
  /** Called with a byte count before bytes are kept. It may throw to refuse them. */
  hold: (bytes: number) => void;
}

/**
 * Removes the describing part from a multipart body and leaves the rest unread.
 * @throws HttpError 400 `form_invalid`, `description_missing`, `description_not_first`; 413 `description_too_large`
 */
export async function readDescribingPart(
  body: AsyncGenerator<Uint8Array>,
  { boundary, names, anywhere, maxBytes, hold }: DescribingPartOptions,
): Promise<DescribedForm> {
  const lexer = new FormLexer(body, boundary);
  const seen = new GrowingBytes();
  /** The range in `seen` with the delimiter before the current part; null before the first part. */
  let opening: { start: number; end: number } | null = null;
  // The lexer adds a line end at the front, which does not belong to the body.
  let readBytes = -LINE_END_BYTES;
  for (let token = await lexer.next(); token !== null; token = await lexer.next()) {
    const { kind, bytes } = token;
    readBytes += bytes.length;
    if (kind === "data") {
      if (seen.length + bytes.length > maxBytes) throw tooLarge(maxBytes);
      hold(bytes.length);
      seen.append(bytes);
      continue;
    }
    if (opening === null) {
      seen.take();
    } else {
      const part = parsePart(seen.bytes.subarray(opening.end));
      if (part !== null && part.name !== null && names.includes(part.name)) {
        const text = part.content.toString("utf8");
        const before = seen.take().subarray(0, opening.start);
        const rest = putBefore([before, bytes], lexer.rest());
        return { text, rest, removedBytes: readBytes - (before.length + bytes.length - LINE_END_BYTES) };
      }
      if (!anywhere) throw descriptionNotFirst();
    }
    if (kind === "last_delimiter") throw opening === null ? invalidForm("has no parts") : descriptionMissing();
    opening = { start: seen.length, end: seen.length + bytes.length };
    hold(bytes.length);
    seen.append(bytes);
  }
  throw invalidForm(opening === null ? "does not start with its boundary" : "ends inside a part");
}

const LINE_END_BYTES = 2;

/** Yields `first` without its leading line end, and then the rest. */
async function* putBefore(
  first: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let skip = LINE_END_BYTES;
  try {
    for (const bytes of first) {
      if (bytes.length === 0) continue;
      yield bytes.subarray(skip);
      skip = 0;
    }
    yield* rest;
  } finally {
    // Also reached when the upstream stops reading. The rest of the upload is released then.
    await rest.return(undefined);
  }
}

/** Creates a 400 for a form without a description. */
export function descriptionMissing(): HttpError {
  return new HttpError(400, "description_missing", 'The form has no field "request" that describes the request.');
}

function descriptionNotFirst(): HttpError {
  return new HttpError(400, "description_not_first", 'The first part of the form must be "request".', {
    details: "The proxy streams parts to the URL in that part, so it must come first.",
  });
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(
    413,
    "description_too_large",
    `Up to the end of its description the form is larger than ${maxBytes} bytes.`,
  );
}

function invalidForm(reason: string): HttpError {
  return new HttpError(400, "form_invalid", `The form ${reason}.`);
}
