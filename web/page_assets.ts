import fs from "node:fs";
import { createHash } from "node:crypto";
import { chooseEncoding, compressSync, getMediaType } from "../net/file_http/mod.ts";

/** Files that the pages of an area load. */
export interface PageAssetsOptions {
  /** Folders inside the project, whose files are served with those of folders below them; `web/` always is. */
  folders: readonly URL[];
  /** Modules of packages by the path that pages import them from. Each is read at the first request for it. */
  libraries?: ReadonlyMap<string, string>;
}

/** Root of the project. A file's path below it is its path in the browser, so that relative imports hold in both. */
const PROJECT_FOLDER = new URL("../", import.meta.url);
const SHARED_FOLDER = new URL("./", import.meta.url);

/** Files of pages by the ending of their names; beside them lie their tests. */
const ASSET_NAME = /\.(?:js|css|html|svg)$/;

type Bytes = Uint8Array<ArrayBuffer>;

/** Reads all files but the libraries. @throws Error when one cannot be read */
export function openPageAssets({ folders, libraries = new Map() }: PageAssetsOptions): PageAssets {
  const files = new Map<string, Bytes>();
  const digest = createHash("sha256");
  for (const folder of [SHARED_FOLDER, ...folders]) {
    for (const name of listAssets(folder)) {
      const url = new URL(name, folder);
      const bytes = new Uint8Array(fs.readFileSync(url));
      const path = url.href.slice(PROJECT_FOLDER.href.length);
      files.set(path, bytes);
      digest.update(path).update(bytes);
    }
  }
  const modules = new Map([...libraries].map(([name, specifier]) => [name, import.meta.resolve(specifier)]));
  // The path of a package holds its version.
  for (const url of modules.values()) digest.update(url.slice(url.lastIndexOf("/node_modules/.")));
  return new PageAssets(digest.digest("hex").slice(0, 12), files, modules);
}

/** Names of the files in a folder and below it, in one order. */
function listAssets(folder: URL): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return ASSET_NAME.test(entry.name) ? [entry.name] : [];
    return listAssets(new URL(`${entry.name}/`, folder)).map((below) => `${entry.name}/${below}`);
  }).sort();
}

/** Files of pages of ours, kept in memory. */
export class PageAssets {
  /** Changes when any of the files does: part of their address, so that they can be cached for ever. */
  readonly version: string;
  readonly #files: Map<string, Bytes>;
  readonly #modules: ReadonlyMap<string, string>;
  readonly #coded = new Map<string, Bytes>();

  /** @param modules where the files lie that are read when one is asked for */
  constructor(version: string, files: Map<string, Bytes>, modules: ReadonlyMap<string, string>) {
    this.version = version;
    this.#files = files;
    this.#modules = modules;
  }

  /** A file to be cached for ever, coded for who takes it; null when there is none of that name. */
  answer(name: string, acceptEncoding: string | null): Response | null {
    return this.#answerWith(name, acceptEncoding, {
      "cache-control": "public, max-age=31536000, immutable",
      "etag": `W/"${this.version}"`,
    });
  }

  /**
   * Answers an address without the version or with an older one, for which browsers must ask again each time. The end of
   * a path is enough to find a file. Null when no file or more than one has it.
   */
  answerLatest(name: string, headers: Pick<Headers, "get">): Response | null {
    const path = this.#findPaths(name);
    if (path.length !== 1) return null;
    const fields = { "cache-control": "no-cache", "etag": `W/"${this.version}"` };
    if (headers.get("if-none-match") === fields.etag) return new Response(null, { status: 304, headers: fields });
    return this.#answerWith(path[0], headers.get("accept-encoding"), fields);
  }

  /**
   * Returns the path of the file with that name.
   * @throws TypeError when no file or more than one has it
   */
  findPath(name: string): string {
    const paths = this.#findPaths(name);
    if (paths.length !== 1) throw new TypeError(`cannot find "${name}": ${paths.length} files have that name`);
    return paths[0];
  }

  #findPaths(name: string): string[] {
    return [...this.#files.keys()].filter((path) => path === name || path.endsWith(`/${name}`));
  }

  /** Text of a file, or null. */
  getText(name: string): string | null {
    const bytes = this.#getBytes(name);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }

  #answerWith(name: string, acceptEncoding: string | null, fields: Record<string, string>): Response | null {
    const bytes = this.#getBytes(name);
    if (bytes === null) return null;
    const headers = {
      "content-type": `${getMediaType(name)}; charset=utf-8`,
      "vary": "accept-encoding",
      "x-content-type-options": "nosniff",
      ...fields,
    };
    const coding = chooseEncoding(acceptEncoding);
    if (coding === null) return new Response(bytes, { headers });
    const key = `${coding} ${name}`;
    const packed = this.#coded.get(key) ?? compressSync(bytes, coding);
    this.#coded.set(key, packed);
    return new Response(packed, { headers: { ...headers, "content-encoding": coding } });
  }

  #getBytes(name: string): Bytes | null {
    const bytes = this.#files.get(name);
    if (bytes !== undefined) return bytes;
    const module = this.#modules.get(name);
    if (module === undefined) return null;
    const read = new Uint8Array(fs.readFileSync(new URL(module)));
    this.#files.set(name, read);
    return read;
  }
}
