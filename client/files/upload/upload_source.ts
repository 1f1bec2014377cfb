import { HttpError } from "../../../common/http_error.ts";
import type { PieceWriter } from "./chunk_writer.ts";

/** A request's body, as `fetch` types it. */
export type UploadBody = ReadableStream<Uint8Array<ArrayBuffer>>;

/** The body of an upload, read in the cheapest way that it offers. */
export interface UploadSource {
  /**
   * Moves what is there to `output`; false at the end.
   * @param limit bytes that may still come
   * @throws HttpError 400 `body_too_long`, or `upload_cut` when the body breaks off
   */
  moveTo(output: PieceWriter, limit: number): Promise<boolean>;
  cancel(): Promise<void>;
}

/** Opens a body. One that is a byte stream fills our buffer itself, at half the cost. */
export function openSource(body: UploadBody): UploadSource {
  const reader = openByteReader(body);
  return reader === null ? createPieceSource(body.getReader()) : createByteSource(reader);
}

function openByteReader(body: UploadBody): ReadableStreamBYOBReader | null {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    // Not a byte stream, which only trying tells.
    return null;
  }
}

function createByteSource(reader: ReadableStreamBYOBReader): UploadSource {
  return {
    async moveTo(output, limit) {
      await output.makeRoom();
      // One byte more than may come shows that there is more.
      const count = await whole(output.fill(reader, limit + 1));
      if (count !== null && count > limit) throw bodyTooLong();
      return count !== null;
    },
    cancel: () => reader.cancel(),
  };
}

function createPieceSource(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>): UploadSource {
  return {
    async moveTo(output, limit) {
      const { done, value } = await whole(reader.read());
      if (done) return false;
      if (value.length > limit) throw bodyTooLong();
      await output.add(value);
      return true;
    },
    cancel: () => reader.cancel(),
  };
}

/** Ends a source that is no longer wanted. */
export async function cancelQuietly(source: UploadSource | null): Promise<void> {
  // A body whose visitor has left cannot be cancelled; it has ended all the same.
  await source?.cancel().catch(() => {});
}

async function whole<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    throw new HttpError(400, "upload_cut", "The upload ended before all of it had come.", { cause });
  }
}

function bodyTooLong(): HttpError {
  return new HttpError(400, "body_too_long", "The body is longer than it was announced to be.");
}
