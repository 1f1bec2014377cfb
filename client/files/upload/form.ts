import busboy from "busboy";
import { Readable } from "node:stream";
import { HttpError } from "../../../common/http_error.ts";
import { isPlainName } from "../../../common/platform/mod.ts";
import type { UploadRequest } from "./put_file.ts";

/** Files in one form. */
const MAX_FILES = 1000;
/** Fields besides, which are passed over, and bytes of each. */
const MAX_FIELDS = 100;
const MAX_FIELD = 64 * 1024;

/** Whether a request is a form that can have files in it, as of a browser or of `curl -F`. */
export function isForm(request: Request): boolean {
  return /^multipart\/form-data\s*;/i.test(request.headers.get("content-type") ?? "");
}

/**
 * Takes one file: its name, which is a plain one, and its content. Reads the content to its end or throws. Resolves with
 * the name that is told to the sender.
 */
export type TakeFile = (name: string, file: UploadRequest) => Promise<string>;

/**
 * Takes the files of a form one after the other. A browser is led back to the folder, others are told the names.
 * @throws HttpError 400 for a form that cannot be read or a name that is none, 413 for too many files, or as `take`
 */
export async function answerForm(request: Request, take: TakeFile): Promise<Response> {
  const names: string[] = [];
  for await (const { name, stream } of readFiles(request)) {
    // A browser sends a file without name or content for a field that was left empty.
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

/** The files of a form as they come; each must be read before the next one. Leaving early gives up the rest. */
async function* readFiles(request: Request): AsyncGenerator<FormFile> {
  if (request.body === null) throw new HttpError(400, "bad_form", "The form cannot be read.");
  const parser = openParser(request);
  const waiting: FormFile[] = [];
  let wake = Promise.withResolvers<void>();
  let failure: unknown = null;
  let isDone = false;
  const tell = () => wake.resolve();
  parser.on("file", (_field, stream, { filename }) => {
    // Told to who reads it; without a listener it would end the process.
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
      // Names as browsers and curl send them.
      defParamCharset: "utf8",
      limits: { files: MAX_FILES, fields: MAX_FIELDS, fieldSize: MAX_FIELD, parts: MAX_FILES + MAX_FIELDS },
    });
  } catch (cause) {
    throw new HttpError(400, "bad_form", "The form cannot be read.", { cause });
  }
}

/** A part of the form as the body of a request; it errors when the form breaks off in it. */
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
