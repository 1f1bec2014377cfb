import { answerFile, type CodedForm, parseAcceptEncoding } from "../../net/file_http/mod.ts";
import type { OpenFile, Root } from "../files/mod.ts";
import { type FilePage, openFile, type SitePage } from "./find_page.ts";
import type { LiveReload } from "./live_reload.ts";

/** Encodings for precompressed files, best first. Clients that accept br get `app.js.br` for `app.js`. */
const CODINGS: readonly (readonly [coding: string, ending: string])[] = [["br", ".br"], ["zstd", ".zst"], [
  "gzip",
  ".gz",
]];

/** Hashes in bundlers' file names: hexadecimal, or eight upper-case or mixed characters. */
const HASHES = [
  /^(?=.*\d)(?=.*[a-f])[0-9a-f]{8,64}$/,
  /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])\w{8}$/,
  /^(?=.*[A-Z])[A-Z2-7]{8}$/,
];
/** A word with an optional number, which people write and hashes rarely match. */
const WORD = /^[A-Za-z][A-Za-z]*_?\d*$/;

/** Whether a bundler named a file by its content, so that the file never changes. False in doubt. */
function isNamedByContent(name: string): boolean {
  const hash = /[.-](\w+)\.\w{2,5}$/.exec(name)?.[1] ?? "";
  return !WORD.test(hash) && HASHES.some((pattern) => pattern.test(hash));
}

/** Sends a page. Browsers revalidate pages at each visit and cache files with a hash in their name. */
export async function sendPage(
  request: Request,
  root: Root,
  page: SitePage,
  live: LiveReload | null,
  isDirect = false,
): Promise<Response> {
  if ("redirect" in page) {
    return new Response(null, {
      status: page.status ?? 308,
      headers: { location: page.redirect, "cache-control": "no-cache" },
    });
  }
  const isHtml = /\.html?$/i.test(page.name);
  // The reload script changes the page, so the file's length and entity tag do not fit.
  if (live !== null && isHtml) return await live.sendPage(request, page);
  const { file, coded, headers } = chooseEncoding(request, root, page);
  headers["cache-control"] = isNamedByContent(page.name) && page.status === undefined && live === null
    ? "public, max-age=31536000, immutable"
    : "no-cache";
  try {
    return answerFile(request, file, {
      name: page.name,
      headers,
      status: page.status,
      coded,
      compress: true,
      isDirect,
    });
  } finally {
    coded?.plain.close();
  }
}

interface Chosen {
  file: OpenFile;
  coded?: CodedForm;
  headers: Record<string, string>;
}

function chooseEncoding(request: Request, root: Root, { file }: FilePage): Chosen {
  const codings = CODINGS.map(([coding]) => coding);
  const accepted = parseAcceptEncoding(request.headers.get("accept-encoding"), codings);
  const last = file.segments.length - 1;
  let hasCoded = false;
  for (const [coding, ending] of CODINGS) {
    const coded = openFile(root, [...file.segments.slice(0, last), file.segments[last] + ending]);
    if (coded === null) continue;
    hasCoded = true;
    // An older precompressed file has former content.
    const isFresh = coded.stat.mtimeMs >= file.stat.mtimeMs - 2000;
    if (isFresh && accepted.includes(coding)) {
      return { file: coded, coded: { encoding: coding, plain: file }, headers: { vary: "accept-encoding" } };
    }
    coded.close();
  }
  return { file, headers: hasCoded ? { vary: "accept-encoding" } : {} };
}
