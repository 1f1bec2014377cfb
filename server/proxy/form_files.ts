import busboy from "busboy";
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { HttpError } from "../../common/http_error.ts";
import { bodyTooLarge } from "./gate.ts";
import { mediaType } from "./media_type.ts";
import { openInside } from "./open_inside.ts";

const MAX_FIELD_BYTES = 1024 * 1024;
const MAX_PARTS = 1000;

/** Opens what a `file:` reference names. */
export type OpenReference = (path: string) => Promise<ReferencedFile>;

export interface ReferencedFile {
  name: string;
  type: string;
  content: AsyncIterable<Uint8Array>;
}

/** One part on its way: its head, and its content when its turn comes. */
interface Part {
  head: string;
  open: () => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>;
}

/** Opens the file that a reference names inside `root`. @throws HttpError 400 `file_not_found` */
export async function resolveReference(root: string, path: string): Promise<ReferencedFile> {
  const file = await openInside(root, path);
  if (file === null) throw new HttpError(400, "file_not_found", `There is no file "${path}" to send.`);
  const content = createReadStream("", { fd: file.handle.fd, autoClose: false });
  return { name: basename(path), type: mediaType(path), content: closing(content, () => file.handle.close()) };
}

async function* closing(content: Readable, close: () => Promise<void>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } finally {
    await close();
  }
}

/**
 * A multipart body in which fields whose value is `file:<path>` have become files. Parts keep their order, names and
 * types, and none is held whole in memory except fields, up to 1 MiB each.
 */
export function insertFiles(source: AsyncIterable<Uint8Array>, boundary: string, open: OpenReference): {
  body: AsyncGenerator<Uint8Array>;
  contentType: string;
} {
  const fresh = `portway-${randomBytes(18).toString("hex")}`;
  return {
    body: writeParts(readParts(source, boundary, open), fresh),
    contentType: `multipart/form-data; boundary=${fresh}`,
  };
}

async function* writeParts(parts: AsyncIterable<Part>, boundary: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const part of parts) {
    const content = await part.open();
    yield encoder.encode(`--${boundary}\r\n${part.head}\r\n\r\n`);
    yield* content;
    yield encoder.encode("\r\n");
  }
  yield encoder.encode(`--${boundary}--\r\n`);
}

/** Reads the parts one after the other: the next is looked for when the content of the one before has been read. */
async function* readParts(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
  open: OpenReference,
): AsyncGenerator<Part> {
  const found: Part[] = [];
  let failure: unknown = null;
  let finished = false;
  let wake = () => {};
  const add = (part: Part) => {
    found.push(part);
    wake();
  };
  const stop = (error: unknown) => {
    failure ??= error;
    wake();
  };
  const parser = busboy({
    headers: { "content-type": `multipart/form-data; boundary="${boundary}"` },
    preservePath: true,
    defParamCharset: "utf8",
    limits: { fieldSize: MAX_FIELD_BYTES, parts: MAX_PARTS },
  });
  parser.on("field", (name, value, info) => {
    if (info.valueTruncated) stop(bodyTooLarge(MAX_FIELD_BYTES));
    else add(value.startsWith("file:") ? referencePart(name, value, open) : fieldPart(name, value, info.mimeType));
  });
  parser.on("file", (name, content, info) => {
    // Whoever reads the content gets the error; one that nobody reads must not end the process.
    content.on("error", () => {});
    add(filePart(name, info.filename, info.mimeType, content));
  });
  parser.on(
    "partsLimit",
    () => stop(new HttpError(413, "too_many_parts", `The form has more than ${MAX_PARTS} parts.`)),
  );
  parser.on("error", (cause) => stop(new HttpError(400, "form_invalid", "The form is malformed.", { cause })));
  parser.on("close", () => {
    finished = true;
    wake();
  });
  const feeding = feed(source, parser).catch(stop);
  try {
    while (true) {
      const part = found.shift();
      if (part) yield part;
      else if (failure) throw failure;
      else if (finished) return;
      else await new Promise<void>((resolve) => wake = resolve);
    }
  } finally {
    parser.destroy();
    wake();
    await feeding;
  }
}

async function feed(source: AsyncIterable<Uint8Array>, parser: busboy.Busboy): Promise<void> {
  for await (const chunk of source) {
    if (parser.destroyed) return;
    if (parser.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      parser.once("drain", resolve);
      parser.once("close", resolve);
    });
  }
  parser.end();
}

function fieldPart(name: string, value: string, type: string): Part {
  const typeLine = type === "text/plain" ? "" : `\r\nContent-Type: ${type}`;
  const bytes = new TextEncoder().encode(value);
  return { head: `${disposition(name)}${typeLine}`, open: () => single(bytes) };
}

function filePart(name: string, filename: string | undefined, type: string, content: Readable): Part {
  return { head: fileHead(name, filename ?? "", type), open: () => content };
}

function referencePart(name: string, value: string, open: OpenReference): Part {
  const path = value.slice("file:".length).replace(/^\/\//, "");
  // The head needs no look at the file: name and type follow from the path.
  return { head: fileHead(name, basename(path), mediaType(path)), open: async () => (await open(path)).content };
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function fileHead(name: string, filename: string, type: string): string {
  return `${disposition(name)}; filename="${escapeParameter(filename)}"\r\nContent-Type: ${
    type.replace(/[\r\n]/g, "")
  }`;
}

function disposition(name: string): string {
  return `Content-Disposition: form-data; name="${escapeParameter(name)}"`;
}

/** As browsers write names (https://html.spec.whatwg.org/#multipart-form-data): no quote, CR or LF gets through. */
function escapeParameter(text: string): string {
  return text.replace(/\r/g, "%0D").replace(/\n/g, "%0A").replace(/"/g, "%22");
}
