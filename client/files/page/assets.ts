import { openPageAssets, type PageAssets } from "../../../web/page_assets.ts";
import { noSuchEntry } from "../disk/fs_error.ts";

/** Files of the browser page, kept in memory. */
export interface Assets {
  /** Part of their address, so that they can be cached for ever. */
  readonly version: string;
  /** Answers a request for `/.portway/<version>/<name>`, coded for who takes it. Throws 404 for any other. */
  answer(segments: readonly string[], acceptEncoding: string | null): Response;
  /** Text of a file. Throws 404. */
  getText(name: string): string;
}

/** First name of the addresses of the page's own files. It begins with a dot, so it is no file of most shares. */
export const ASSET_FOLDER = ".portway";

/** Path of the page's own files below the project. */
export const PAGE_FOLDER = "client/files/assets";

let loaded: Assets | null = null;

/** The assets, read from the disk at the first call. */
export function loadAssets(): Assets {
  return loaded ??= adapt(openPageAssets({ folders: FOLDERS, libraries: LIBRARIES }));
}

/** The page's own files, and those that make bodies readable, which other pages have too. */
const FOLDERS = [new URL("../assets/", import.meta.url), new URL("../../../common/readable/", import.meta.url)];

/**
 * Libraries that the page loads when a preview asks for them, from the packages that they come in. Their addresses hold
 * their versions.
 */
const LIBRARIES = new Map([
  [`${PAGE_FOLDER}/lib-markdown-it.js`, "markdown-it/browser"],
  [`${PAGE_FOLDER}/lib-highlight.js`, "@highlightjs/cdn-assets/es/highlight.min.js"],
  ...["cmake", "dart", "dockerfile", "dos", "elixir", "erlang", "groovy", "haskell", "julia", "latex", "nix", "ocaml"]
    .map(nameLanguage),
  ...["powershell", "properties", "protobuf", "scala"].map(nameLanguage),
]);

function nameLanguage(name: string): [string, string] {
  return [`${PAGE_FOLDER}/language-${name}.js`, `@highlightjs/cdn-assets/es/languages/${name}.min.js`];
}

function adapt(assets: PageAssets): Assets {
  const { version } = assets;
  return {
    version,
    answer([folder, asked, ...way], acceptEncoding) {
      const found = folder === ASSET_FOLDER && asked === version ? assets.answer(way.join("/"), acceptEncoding) : null;
      if (found === null) throw noSuchEntry();
      return found;
    },
    getText(name) {
      const text = assets.getText(name);
      if (text === null) throw noSuchEntry();
      return text;
    },
  };
}
