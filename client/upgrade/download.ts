import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import type { Connect } from "../../net/connection/mod.ts";
import { explainError } from "../../common/explain_error.ts";
import { PROJECT, RELEASE } from "../../common/release.ts";
import { type HttpStream, openStream } from "../api/mod.ts";
import { UpgradeFailed } from "./upgrade_failed.ts";

/** Servers of releases redirect to storage, some of them twice. */
const MAX_REDIRECTS = 5;
/** A server that sends no bytes for so long has failed. */
const IDLE_MS = 60_000;

/** A way to release files. */
export interface Downloads {
  readonly connect: Connect;
  /** Ends each download. */
  readonly signal: AbortSignal;
}

/**
 * Downloads a small file.
 * @throws UpgradeFailed, also for a file above the limit
 */
export async function downloadBytes(downloads: Downloads, url: URL, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  await download(downloads, url, maxBytes, (chunk) => void chunks.push(chunk));
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/**
 * Downloads into a new file that its owner can run.
 * @returns the SHA-256 in hexadecimal
 * @throws UpgradeFailed, also for a file above the limit
 */
export async function downloadFile(downloads: Downloads, url: URL, path: string, maxBytes: number): Promise<string> {
  const file = await open(path, "wx", 0o755), hash = createHash("sha256");
  try {
    await download(downloads, url, maxBytes, async (chunk) => {
      hash.update(chunk);
      await file.writeFile(chunk);
    });
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest("hex");
}

type TakeChunk = (chunk: Uint8Array<ArrayBuffer>) => void | Promise<void>;

async function download({ connect, signal }: Downloads, url: URL, maxBytes: number, take: TakeChunk): Promise<void> {
  const idle = new AbortController(), restart = () => setTimeout(() => idle.abort(), IDLE_MS);
  let timer = restart(), size = 0, stream: HttpStream | null = null;
  try {
    stream = await openFollowing(connect, url, AbortSignal.any([signal, idle.signal]));
    for await (const chunk of stream.body) {
      clearTimeout(timer);
      timer = restart();
      size += chunk.length;
      if (size > maxBytes) throw new UpgradeFailed(`cannot download ${url}: it has more than ${maxBytes} bytes`);
      await take(chunk);
    }
  } catch (error) {
    if (signal.aborted) throw new UpgradeFailed("the upgrade was interrupted, and changed no file", { cause: error });
    if (error instanceof UpgradeFailed) throw error;
    const reason = idle.signal.aborted ? `no bytes within ${IDLE_MS / 1000} seconds` : explainError(error);
    throw new UpgradeFailed(`cannot download ${url}: ${reason}`, { cause: error });
  } finally {
    clearTimeout(timer);
    stream?.close();
  }
}

/** Follows redirects, but none from https to http. */
async function openFollowing(connect: Connect, url: URL, signal: AbortSignal): Promise<HttpStream> {
  const headers = { accept: "*/*", "user-agent": `${PROJECT}/${RELEASE}` };
  for (let count = 0, next = url; count <= MAX_REDIRECTS; count++) {
    const stream = await openStream(connect, { method: "GET", url: next, headers, signal });
    if (stream.status === 200) return stream;
    stream.close();
    const location = stream.header("location"), isRedirect = [301, 302, 303, 307, 308].includes(stream.status);
    if (!isRedirect || location === undefined || !URL.canParse(location, next)) {
      throw new UpgradeFailed(`cannot download ${url}: the server responded with ${stream.status}`);
    }
    const target = new URL(location, next);
    if (target.protocol !== "https:" && next.protocol === "https:") {
      throw new UpgradeFailed(`cannot download ${url}: it redirects to ${target.protocol}//`);
    }
    next = target;
  }
  throw new UpgradeFailed(`cannot download ${url}: more than ${MAX_REDIRECTS} redirects`);
}
