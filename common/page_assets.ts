import fs from "node:fs";
import { createHash } from "node:crypto";
import { chooseCoding, compressSync, getMediaType } from "./file_http/mod.ts";
import { LOOK_FOLDER } from "./look/look.ts";

/** Files of pages of ours, kept in memory. */
export interface PageAssets {
  /** Changes when any of the files does: part of their address, so that they can be cached for ever. */
  readonly version: string;
  /** A file to be cached for ever, coded for who takes it; null when there is none of that name. */
  answer(name: string, acceptEncoding: string | null): Response | null;
  /** The same for an address without the version, or with an older one: to be asked for again each time, by its tag. */
  answerLatest(name: string, headers: Pick<Headers, "get">): Response | null;
  /** Text of a file, or null. */
  getText(name: string): string | null;
}

/** Where the files lie that pages of an area load. */
export interface PageAssetsOptions {
  /** Where files lie, without those below it. The shared stylesheets are there besides. */
  folders: readonly URL[];
  /** Modules of packages by the names that pages know them by. Read when one is asked for. */
  libraries?: ReadonlyMap<string, string>;
}

/** Files of pages by the ending of their names; beside them lie their tests. */
const ASSET_NAME = /\.(?:js|css|html|svg)$/;

/** Reads all files but the libraries. @throws Error when one cannot be read */
export function openPageAssets({ folders, libraries = new Map() }: PageAssetsOptions): PageAssets {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const coded = new Map<string, Uint8Array<ArrayBuffer>>();
  const digest = createHash("sha256");
  for (const folder of [LOOK_FOLDER, ...folders]) {
    for (const name of fs.readdirSync(folder).filter((name) => ASSET_NAME.test(name)).sort()) {
      const bytes = new Uint8Array(fs.readFileSync(new URL(name, folder)));
      files.set(name, bytes);
      digest.update(name).update(bytes);
    }
  }
  const modules = new Map([...libraries].map(([name, specifier]) => [name, import.meta.resolve(specifier)]));
  // The path of a package holds its version.
  for (const url of modules.values()) digest.update(url.slice(url.lastIndexOf("/node_modules/.")));
  const version = digest.digest("hex").slice(0, 12);

  function getBytes(name: string): Uint8Array<ArrayBuffer> | null {
    const bytes = files.get(name);
    if (bytes !== undefined) return bytes;
    const module = modules.get(name);
    if (module === undefined) return null;
    const read = new Uint8Array(fs.readFileSync(new URL(module)));
    files.set(name, read);
    return read;
  }

  function answer(name: string, acceptEncoding: string | null, fields: Record<string, string>): Response | null {
    const bytes = getBytes(name);
    if (bytes === null) return null;
    const headers = {
      "content-type": `${getMediaType(name)}; charset=utf-8`,
      "vary": "accept-encoding",
      "x-content-type-options": "nosniff",
      ...fields,
    };
    const coding = chooseCoding(acceptEncoding);
    if (coding === null) return new Response(bytes, { headers });
    const key = `${coding} ${name}`;
    const packed = coded.get(key) ?? compressSync(bytes, coding);
    coded.set(key, packed);
    return new Response(packed, { headers: { ...headers, "content-encoding": coding } });
  }

  return {
    version,
    answer: (name, acceptEncoding) =>
      answer(name, acceptEncoding, {
        "cache-control": "public, max-age=31536000, immutable",
        "etag": `W/"${version}"`,
      }),
    answerLatest(name, headers) {
      const fields = { "cache-control": "no-cache", "etag": `W/"${version}"` };
      if (getBytes(name) !== null && headers.get("if-none-match") === fields.etag) {
        return new Response(null, { status: 304, headers: fields });
      }
      return answer(name, headers.get("accept-encoding"), fields);
    },
    getText(name) {
      const bytes = getBytes(name);
      return bytes === null ? null : new TextDecoder().decode(bytes);
    },
  };
}
