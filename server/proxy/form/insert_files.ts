import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { getMediaType } from "../../../net/file_http/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { FormLexer, type FormPart, parsePart } from "./lexer.ts";
import { GrowingBytes } from "../describe/description_bytes.ts";
import { openInside } from "../routes/files.ts";

/** Longest head and text for a file reference. A longer part is no reference. */
const MAX_REFERENCE_BYTES = 8 * 1024;
const SCHEME = Buffer.from("file:");

/** Opens a `file:` reference. @throws HttpError 400 `file_not_found` */
export type OpenReference = (path: string) => Promise<AsyncIterable<Uint8Array>>;

/** Opens a referenced file inside `root`. @throws HttpError 400 `file_not_found` */
export async function openReference(root: string, path: string): Promise<AsyncIterable<Uint8Array>> {
  const file = await openInside(root, path);
  if (file === null) throw new HttpError(400, "file_not_found", `There is no file "${path}" to send.`);
  const content = createReadStream("", { fd: file.handle.fd, autoClose: false });
  return closing(content, () => file.handle.close());
}

async function* closing(content: Readable, close: () => Promise<void>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } finally {
    await close();
  }
}

/**
 * Replaces fields with the text `file:<path>` by the files. All other parts keep their bytes. The new boundary occurs
 * in no file. Only the beginning of each part is held in memory.
 * @returns a body whose reader gets HttpError 400 `form_invalid` for an incomplete form, and errors from `open`
 */
export function insertFiles(source: AsyncGenerator<Uint8Array>, boundary: string, open: OpenReference): {
  body: AsyncGenerator<Uint8Array>;
  contentType: string;
} {
  const fresh = `portway-${randomBytes(18).toString("hex")}`;
  return {
    body: rewriteParts(source, boundary, fresh, open),
    contentType: `multipart/form-data; boundary=${fresh}`,
  };
}

/**
 * @throws HttpError 400 `form_invalid`, while it is read, at an end without a last delimiter, and errors from `open`
 */
async function* rewriteParts(
  source: AsyncGenerator<Uint8Array>,
  boundary: string,
  fresh: string,
  open: OpenReference,
): AsyncGenerator<Uint8Array> {
  const lexer = new FormLexer(source, boundary);
  /** The beginning of a part that may be a reference. */
  const beginning = new GrowingBytes();
  let state: "before" | "undecided" | "passing" | "after" = "before";
  try {
    for (let token = await lexer.next(); token !== null; token = await lexer.next()) {
      if (state === "after") continue;
      if (token.kind === "data") {
        if (state === "passing") yield token.bytes;
        if (state !== "undecided") continue;
        beginning.append(token.bytes);
        if (mayBeReference(beginning.bytes)) continue;
        yield beginning.take();
        state = "passing";
        continue;
      }
      if (state === "undecided") yield* finishPart(beginning.take(), open);
      const isLast = token.kind === "last_delimiter";
      yield Buffer.from(`${state === "before" ? "" : "\r\n"}--${fresh}${isLast ? "--" : ""}\r\n`);
      state = isLast ? "after" : "undecided";
    }
    if (state !== "after") throw new HttpError(400, "form_invalid", "The form ends inside a part.");
  } finally {
    await source.return(undefined);
  }
}

/** Whether a part with this beginning can be a file reference. */
function mayBeReference(beginning: Buffer): boolean {
  if (beginning.length > MAX_REFERENCE_BYTES) return false;
  const part = parsePart(beginning);
  return part === null || (isField(part) && SCHEME.subarray(0, part.content.length).equals(schemeOf(part)));
}

/** Yields the file for a reference, or the part itself. */
async function* finishPart(bytes: Buffer, open: OpenReference): AsyncGenerator<Uint8Array> {
  const part = parsePart(bytes);
  if (part === null || !isField(part) || !schemeOf(part).equals(SCHEME)) return yield bytes;
  const path = part.content.toString("utf8", SCHEME.length).replace(/^\/\//, "");
  const content = await open(path);
  yield Buffer.from(fileHead(part.head, path), "latin1");
  yield* content;
}

function isField({ name, hasFilename }: FormPart): boolean {
  return name !== null && !hasFilename;
}

function schemeOf({ content }: FormPart): Buffer {
  return content.subarray(0, SCHEME.length);
}

/** Turns a field's head into a file's head. Name and type follow from the path. In Latin-1. */
function fileHead(head: string, path: string): string {
  const filename = Buffer.from(escapeParameter(basename(path)), "utf8").toString("latin1");
  const lines = head.split("\r\n").filter((line) => !/^content-(type|length)[ \t]*:/i.test(line))
    .map((line) =>
      /^content-disposition:/i.test(line) ? `${line.replace(/[; \t]+$/, "")}; filename="${filename}"` : line
    );
  return [...lines, `Content-Type: ${getMediaType(basename(path))}`, "", ""].join("\r\n");
}

/** Escapes a name as browsers do (https://html.spec.whatwg.org/#multipart-form-data), without quotes, CR and LF. */
function escapeParameter(text: string): string {
  return text.replace(/\r/g, "%0D").replace(/\n/g, "%0A").replace(/"/g, "%22");
}
