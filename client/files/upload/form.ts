import busboy from "busboy";
import { Readable } from "node:stream";
import { HttpError } from "../../../common/http_error.ts";
import { isPlainName } from "../../../common/platform/mod.ts";
import type { UploadRequest } from "./put_file.ts";

/** Files per form. */
const MAX_FILES = 1000;
/** Other fields in a form, which are ignored, and bytes per field. */
const MAX_FIELDS = 100;
const MAX_FIELD = 64 * 1024;

/** Checks whether a request is a form that may contain files, as from a browser or `curl -F`. */
export function isForm(request: Request): boolean {
  return /^multipart\/form-data\s*;/i.test(request.headers.get("content-type") ?? "");
}

/**
 * Receives one file by its plain name and content. Reads the content to its end or throws. Resolves with the stored
 * name for the sender.
 */
export type TakeFile = (name: string, file: UploadRequest) => Promise<string>;

/**
 * Takes the files in a form in order. A browser is redirected to the folder; other clients receive the names.
 * @throws HttpError 400 for a malformed form or file name, 413 for too many files, or the errors from `take`
 */
export async function answerForm(request: Request, take: TakeFile): Promise<Response> {
  const names: string[] = [];
  for await (const { name, stream } of readFiles(request)) {
    // Browsers send a file without name or content for an empty field.
    if (name === "") {
      stream.resume();
      continue;
    }
    if (!isPlainName(name)) {
      throw new HttpError(400, "bad_path", "A file in the form has a name that cannot be one here.");
    }
    const body = toBody(stream);
    names.push(await take(name, { headers: new Headers(), body }));
  }
  if (names.length === 0) throw new HttpError(400, "no_files", "The form has no file in it.");
  if (request.headers.get("accept")?.includes("text/html")) {
    return new Response(null, { status: 303, headers: { location: "?", "cache-control": "no-store" } });
  }
  return Response.json({ uploaded: names }, { status: 201, headers: { "cache-control": "no-store" } });
}

interface FormFile {
  name: string;
  stream: Readable;
}

/**
 * Yields a form's files as they arrive; the caller reads each file before the next one. Returning early discards the
 * rest.
 */
async function* readFiles(request: Request): AsyncGenerator<FormFile> {
  if (request.body === null) throw new HttpError(400, "bad_form", "The form cannot be read.");
  const parser = openParser(request);
  const waiting: FormFile[] = [];
  let wake = Promise.withResolvers<void>();
  let failure: unknown = null;
  let isDone = false;
  const tell = () => wake.resolve();
  parser.on("file", (_field, stream, { filename }) => {
    // The reader receives the error. An error event without a listener would end the process.
    stream.on("error", tell);
    waiting.push({ name: filename ?? "", stream });
    tell();
  });
  parser.on("filesLimit", () => fail(new HttpError(413, "too_many_files", `A form has ${MAX_FILES} files at most.`)));
  parser.on("error", (cause) => fail(new HttpError(400, "bad_form", "The form cannot be read.", { cause })));
  parser.on("close", () => {
    isDone = true;
    tell();
  });
  const source = Readable.fromWeb(request.body as Parameters<typeof Readable.fromWeb>[0]);
  source.on("error", (cause) => {
    fail(new HttpError(400, "upload_cut", "The upload ended before all of it had come.", { cause }));
    parser.destroy();
  });
  function fail(error: HttpError): void {
    failure ??= error;
    tell();
  }
  try {
    source.pipe(parser);
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      if (failure !== null) throw failure;
      if (next === undefined && isDone) return;
      if (waiting.length === 0 && !isDone) await wake.promise;
      wake = Promise.withResolvers();
      if (isDone) wake.resolve();
    }
  } finally {
    source.destroy();
    parser.destroy();
  }
}

function openParser(request: Request): busboy.Busboy {
  try {
    return busboy({
      headers: { "content-type": request.headers.get("content-type") ?? "" },
      // Browsers and curl send names in UTF-8.
      defParamCharset: "utf8",
      limits: { files: MAX_FILES, fields: MAX_FIELDS, fieldSize: MAX_FIELD, parts: MAX_FILES + MAX_FIELDS },
    });
  } catch (cause) {
    throw new HttpError(400, "bad_form", "The form cannot be read.", { cause });
  }
}

/** Returns a form part as a request body. The body errors when the form breaks off inside it. */
function toBody(stream: Readable): ReadableStream<Uint8Array<ArrayBuffer>> {
  const pieces = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    async cancel() {
      await pieces.return?.();
    },
  }, { highWaterMark: 0 });
}
