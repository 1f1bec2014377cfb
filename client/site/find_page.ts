import { type OpenFile, type Root, serializePath, type SharePath } from "../files/mod.ts";
import { HttpError } from "../../common/http_error.ts";

/** Sent by the script of live reload, which asks for the page that it is on and wants to be told of errors in JSON. */
export const LIVE_HEADER = "x-portway-live";

/** What answers a request: a file, or another address to ask. */
export type SitePage = FilePage | { redirect: string; status?: number };

/** A file that answers a request. */
export interface FilePage {
  /** Whoever sends it closes it. */
  file: OpenFile;
  /** Its name, which tells its type. */
  name: string;
  /** Status when the file stands in for what was asked. */
  status?: number;
}

/**
 * Finds the file for an address: the file itself, `index.html` of a folder, or `about.html` for `/about`. Folders get a
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

/** Endings of what pages load. A page in the place of a missing image or script would only hide the mistake. */
const ASSET = new RegExp(
  "\\.(?:[cm]?js|css|map|json|webmanifest|wasm|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|ogg|" +
    "wav|pdf|txt|xml|csv|zip|gz|br)$",
  "i",
);

/** Values of Sec-Fetch-Dest with which a browser loads a page, as opposed to data, an image or a script. */
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

/** Returns the index of a single-page application for a request of one of its routes, else null. */
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
