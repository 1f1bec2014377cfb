import type { Root } from "../disk/root.ts";
import { describeDisposition } from "../serve/disposition.ts";
import { streamTar } from "./tar.ts";
import { streamZip } from "./zip.ts";

/** The archive that a query asks for. */
export function findArchiveKind(query: URLSearchParams): ArchiveKind | null {
  if (query.has("zip")) return "zip";
  return query.has("tar") ? "tar" : null;
}

/** The two forms of `?zip` and `?tar`. */
export type ArchiveKind = "zip" | "tar";

const ARCHIVES = {
  zip: { type: "application/zip", stream: streamZip },
  tar: { type: "application/x-tar", stream: streamTar },
};

/** Form, name and content of an archive that is sent. */
export interface SendArchiveOptions {
  kind: ArchiveKind;
  /** What the archive of the whole share is named after. */
  shareName: string;
  /** Names in the folder to take; all of it when empty. */
  names: readonly string[];
}

/** Sends an archive of `names` in a folder, or of all of it. */
export function sendArchive(
  request: Request,
  root: Root,
  segments: readonly string[],
  { kind, shareName, names }: SendArchiveOptions,
): Response {
  const { type, stream } = ARCHIVES[kind];
  // For HEAD an empty stream: listeners take no body for a length of 0.
  const body = request.method === "HEAD"
    ? new Blob().stream()
    : stream(root, segments, { names, signal: request.signal });
  const base = names.length === 1 ? names[0] : segments.at(-1) ?? shareName;
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-disposition": describeDisposition("attachment", `${base}.${kind}`),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
