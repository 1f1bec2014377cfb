import { HttpError } from "../../../common/http_error.ts";
import { FormLexer } from "./lexer.ts";
import { parsePart } from "./part.ts";
import { GrowingBytes } from "../describe/description_bytes.ts";

/** A multipart body without the part that describes the request. */
export interface DescribedForm {
  /** Content of the describing part. */
  text: string;
  /** All other parts, byte for byte: a multipart body of its own, with the same boundary. */
  rest: AsyncGenerator<Uint8Array>;
  /** How many bytes shorter the rest is than the body was. */
  removedBytes: number;
}

/** How the part of a form is found that describes the request, and how much is kept for that. */
export interface DescribingPartOptions {
  boundary: string;
  /** Names that the describing part may have. */
  names: readonly string[];
  /** Whether other parts may come before it; they are kept in memory until it is there. */
  anywhere: boolean;
  /** Of all parts up to the end of the describing one. */
  maxBytes: number;
  /** Told of bytes before they are kept; may throw to have no more of them. */
  hold: (bytes: number) => void;
}

/**
 * Takes the describing part off a multipart body and leaves what follows it unread.
 * @throws HttpError 400 `form_invalid`, `description_missing`, `description_not_first`; 413 `description_too_large`
 */
export async function readDescribingPart(
  body: AsyncGenerator<Uint8Array>,
  { boundary, names, anywhere, maxBytes, hold }: DescribingPartOptions,
): Promise<DescribedForm> {
  const lexer = new FormLexer(body, boundary);
  const seen = new GrowingBytes();
  /** Where the delimiter in front of the part under way is in `seen`; null in what comes before the first part. */
  let opening: { start: number; end: number } | null = null;
  // The line end that the lexer puts in front is not the body's.
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

/** `first` without the line end it begins with, and then the rest. */
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
    // Reached also when the upstream takes no more: then the rest of the upload is let go of.
    await rest.return(undefined);
  }
}

/** 400 for a form in which nothing says what to request. */
export function descriptionMissing(): HttpError {
  return new HttpError(400, "description_missing", 'The form has no field "request" that describes the request.');
}

function descriptionNotFirst(): HttpError {
  return new HttpError(400, "description_not_first", 'The first part of the form must be "request".', {
    details: "Parts are sent on as they arrive, so the one that says where to must come before all others.",
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
