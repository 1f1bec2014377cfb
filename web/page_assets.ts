import fs from "node:fs";
import { createHash } from "node:crypto";
import { chooseEncoding, compressSync, getMediaType } from "../net/file_http/mod.ts";

/** Files for an area's pages. */
export interface PageAssetsOptions {
  /** Folders inside the project, served with their subfolders. `web/` is always included. */
  folders: readonly URL[];
  /** Package modules by their path in the browser. Each is read at its first request. */
  libraries?: ReadonlyMap<string, string>;
}

const SHARED_FOLDER = new URL("./", import.meta.url);
/**
 * Project root. Files have the same relative paths in the browser, so that relative imports work in both places. Named
 * through {@link SHARED_FOLDER}, because packages contain each folder that code reads beside itself.
 */
const PROJECT_FOLDER = new URL("../", SHARED_FOLDER);

/** Name endings that are served. Tests beside them have other endings. */
const ASSET_NAME = /\.(?:js|css|html|svg)$/;

type Bytes = Uint8Array<ArrayBuffer>;

/** Reads all files except the libraries. @throws Error when a file is not readable */
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
  // A package's path contains its version.
  for (const url of modules.values()) digest.update(url.slice(url.lastIndexOf("/node_modules/.")));
  return new PageAssets(digest.digest("hex").slice(0, 12), files, modules);
}

/** Lists the files below a folder in a stable order. */
function listAssets(folder: URL): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return ASSET_NAME.test(entry.name) ? [entry.name] : [];
    return listAssets(new URL(`${entry.name}/`, folder)).map((below) => `${entry.name}/${below}`);
  }).sort();
}

/** Page files in memory. */
export class PageAssets {
  /** A digest over all files. URLs contain it, so that browsers can cache files for a year. */
  readonly version: string;
  readonly #files: Map<string, Bytes>;
  readonly #modules: ReadonlyMap<string, string>;
  readonly #coded = new Map<string, Bytes>();

  /** @param modules library locations */
  constructor(version: string, files: Map<string, Bytes>, modules: ReadonlyMap<string, string>) {
    this.version = version;
    this.#files = files;
    this.#modules = modules;
  }

  /** Returns a cacheable response in an accepted content encoding, or null for an unknown file. */
  answer(name: string, acceptEncoding: string | null): Response | null {
    return this.#answerWith(name, acceptEncoding, {
      "cache-control": "public, max-age=31536000, immutable",
      "etag": `W/"${this.version}"`,
    });
  }

  /**
   * Returns a response that browsers revalidate each time, for a URL without the version or with an older one. A path's last
   * names are enough. Null when no file or more than one matches.
   */
  answerLatest(name: string, headers: Pick<Headers, "get">): Response | null {
    const path = this.#findPaths(name);
    if (path.length !== 1) return null;
    const fields = { "cache-control": "no-cache", "etag": `W/"${this.version}"` };
    if (headers.get("if-none-match") === fields.etag) return new Response(null, { status: 304, headers: fields });
    return this.#answerWith(path[0], headers.get("accept-encoding"), fields);
  }

  /**
   * Finds a file's path by its last names.
   * @throws TypeError when no file or more than one matches
   */
  findPath(name: string): string {
    const paths = this.#findPaths(name);
    if (paths.length !== 1) throw new TypeError(`cannot find "${name}": ${paths.length} files have that name`);
    return paths[0];
  }

  #findPaths(name: string): string[] {
    return [...this.#files.keys()].filter((path) => path === name || path.endsWith(`/${name}`));
  }

  /** Returns a file's text, or null. */
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
