import fs from "node:fs";
import { createHash } from "node:crypto";
import { notFound } from "../disk/fs_error.ts";
import { chooseCoding, compressSync, getMediaType } from "../../../common/file_http/mod.ts";

/** Files of the browser page, kept in memory. */
export interface Assets {
  /** Changes when any of the files does: part of their address, so that they can be cached for ever. */
  readonly version: string;
  /** Answers a request for `/.portway/<version>/<name>`, coded for who takes it. Throws 404 for any other. */
  answer(segments: readonly string[], acceptEncoding: string | null): Response;
  /** Text of a file. Throws 404. */
  getText(name: string): string;
}

/** First name of the addresses of the page's own files. It begins with a dot, so it is no file of most shares. */
export const ASSET_FOLDER = ".portway";

let loaded: Assets | null = null;

/** The assets, read from the disk at the first call. */
export function loadAssets(): Assets {
  return loaded ??= readAssets(new URL("../assets/", import.meta.url));
}

/** Files of the page by the ending of their names; beside them lie their tests. */
const ASSET_NAME = /\.(?:js|css|html|svg)$/;

/**
 * Libraries that the page loads when a preview asks for them, from the packages that they come in. Their addresses hold
 * their versions.
 */
const LIBRARIES = new Map([
  ["lib-markdown-it.js", "markdown-it/browser"],
  ["lib-highlight.js", "@highlightjs/cdn-assets/es/highlight.min.js"],
  ...["cmake", "dart", "dockerfile", "dos", "elixir", "erlang", "groovy", "haskell", "julia", "latex", "nix", "ocaml"]
    .map(nameLanguage),
  ...["powershell", "properties", "protobuf", "scala"].map(nameLanguage),
]);

function nameLanguage(name: string): [string, string] {
  return [`language-${name}.js`, `@highlightjs/cdn-assets/es/languages/${name}.min.js`];
}

function readAssets(folder: URL): Assets {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const coded = new Map<string, Uint8Array<ArrayBuffer>>();
  const digest = createHash("sha256");
  for (const name of fs.readdirSync(folder).filter((name) => ASSET_NAME.test(name)).sort()) {
    const bytes = new Uint8Array(fs.readFileSync(new URL(name, folder)));
    files.set(name, bytes);
    digest.update(name).update(bytes);
  }
  const libraries = new Map([...LIBRARIES].map(([name, specifier]) => [name, import.meta.resolve(specifier)]));
  for (const url of libraries.values()) digest.update(url.slice(url.lastIndexOf("/node_modules/.")));
  const version = digest.digest("hex").slice(0, 12);

  function getBytes(name: string): Uint8Array<ArrayBuffer> {
    const bytes = files.get(name);
    if (bytes !== undefined) return bytes;
    const library = libraries.get(name);
    if (library === undefined) throw notFound();
    const read = new Uint8Array(fs.readFileSync(new URL(library)));
    files.set(name, read);
    return read;
  }

  return {
    version,
    getText: (name) => new TextDecoder().decode(getBytes(name)),
    answer([folderName, askedVersion, name], acceptEncoding) {
      if (folderName !== ASSET_FOLDER || askedVersion !== version) throw notFound();
      const headers: Record<string, string> = {
        "content-type": `${getMediaType(name)}; charset=utf-8`,
        "cache-control": "public, max-age=31536000, immutable",
        "vary": "accept-encoding",
        "x-content-type-options": "nosniff",
      };
      const bytes = getBytes(name);
      const coding = chooseCoding(acceptEncoding);
      if (coding === null) return new Response(bytes, { headers });
      const key = `${coding} ${name}`;
      const packed = coded.get(key) ?? compressSync(bytes, coding);
      coded.set(key, packed);
      return new Response(packed, { headers: { ...headers, "content-encoding": coding } });
    },
  };
}
