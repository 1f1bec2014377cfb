import { type OpenFile, type Root, serializePath, type SharePath } from "../files/mod.ts";
import { HttpError } from "../../common/http_error.ts";

/** Request field that the live reload script sends, which requests its own page and expects errors as JSON. */
export const LIVE_HEADER = "x-portway-live";

/** The page for a request: a file or a redirect. */
export type SitePage = FilePage | { redirect: string; status?: number };

/** A file that is sent as a page. */
export interface FilePage {
  /** The sender closes it. */
  file: OpenFile;
  /** File name that determines the media type. */
  name: string;
  /** Status when the file replaces a missing page. Default 200. */
  status?: number;
}

/**
 * Finds the file for an address: the file itself, a folder's `index.html`, or `about.html` for `/about`. Folders get a
 * slash at their end, so that their relative links work. Null when there is none.
 */
export function findFile(root: Root, { segments, isFolder, search }: SharePath): SitePage | null {
  const opened = openIfThere(root, segments);
  if (opened?.kind === "file") {
    if (!isFolder) return { file: opened, name: segments[segments.length - 1] };
    opened.close();
    return null;
  }
  opened?.close();
  if (opened !== null) {
    const index = openFile(root, [...segments, "index.html"]);
    if (index !== null && isFolder) return { file: index, name: "index.html" };
    index?.close();
    if (index !== null) return { redirect: serializePath(segments, true) + search };
  }
  if (segments.length === 0) return null;
  const pretty = openFile(root, [...segments.slice(0, -1), `${segments[segments.length - 1]}.html`]);
  if (pretty === null) return null;
  if (!isFolder) return { file: pretty, name: "index.html" };
  pretty.close();
  return { redirect: serializePath(segments, false) + search };
}

/** Asset name endings. The index instead of a missing image or script would hide the mistake. */
const ASSET = new RegExp(
  "\\.(?:[cm]?js|css|map|json|webmanifest|wasm|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|ogg|" +
    "wav|pdf|txt|xml|csv|zip|gz|br)$",
  "i",
);

/** Sec-Fetch-Dest values with which a browser loads a page, as opposed to data, an image or a script. */
const PAGE_DESTINATIONS: ReadonlySet<string> = new Set(["document", "iframe", "frame", "embed", "object"]);

/**
 * Whether a request can be for a page. Monitors, link previews and curl send no Accept or any type; `fetch` sends any
 * type too, and only Sec-Fetch-Dest tells it apart.
 */
function asksForPage({ headers }: Request): boolean {
  if (headers.has(LIVE_HEADER)) return true;
  const destination = headers.get("sec-fetch-dest");
  if (destination !== null && !PAGE_DESTINATIONS.has(destination)) return false;
  const accept = headers.get("accept");
  return accept === null || /html|\*\/\*/i.test(accept);
}

/** Returns a single-page application's index for a request to one of its routes, else null. */
export function findRoute(request: Request, root: Root, { segments }: SharePath, spa: string | null): SitePage | null {
  if (spa === null) return null;
  const last = segments[segments.length - 1] ?? "";
  // A program that asks for missing data must not get a page.
  const isRoute = segments.length === 0 || (asksForPage(request) && !ASSET.test(last));
  const file = isRoute ? openFile(root, spa.split("/")) : null;
  return file === null ? null : { file, name: spa };
}

/** Opens a file below the root; null when visitors can see none there. @throws the system's other errors */
export function openFile(root: Root, segments: readonly string[]): OpenFile | null {
  const opened = openIfThere(root, segments);
  if (opened === null || opened.kind === "file") return opened;
  opened.close();
  return null;
}

function openIfThere(root: Root, segments: readonly string[]): ReturnType<Root["open"]> | null {
  try {
    return root.open(segments);
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return null;
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return null;
    throw error;
  }
}
