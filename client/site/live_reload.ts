import { Buffer } from "node:buffer";
import { describeError, type Logger } from "../../common/log.ts";
import { answerFile } from "../../net/file_http/mod.ts";
import type { OpenFile } from "../files/mod.ts";
import { type FilePage, LIVE_HEADER } from "./find_page.ts";
import { watchFolder } from "./watch_folder.ts";

/** Reserved paths that no site has by chance. */
const LIVE_SCRIPT = "/.portway/live.js";
const LIVE_EVENTS = "/.portway/live";

type Listener = ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;

/** Delay that joins changes in a burst, such as a build. */
const SETTLE_MS = 80;
/** Longest delay while changes continue, as in a log. */
const MAX_WAIT_MS = 500;
const PING_MS = 15_000;
/** Most pages that can wait for changes. */
const MAX_LISTENERS = 256;

const encoder = new TextEncoder();

const SCRIPT = `// Added by portway --live.
{
let lost = false;
// The query has the last change that the page includes, so the server can report a later one at once.
const { search } = new URL(document.currentScript.src);
const events = new EventSource("${LIVE_EVENTS}" + search);
// During a build the page can be missing. The next change requests it again. Errors come as JSON, because this
// request accepts any type.
const reload = async () => {
  const { headers } = await fetch(location.href, { method: "HEAD", cache: "no-store", headers: { "${LIVE_HEADER}": "1" } });
  if (headers.get("content-type")?.startsWith("text/html")) location.reload();
};
events.addEventListener("change", ({ data }) => {
  const sheets = [...document.querySelectorAll("link[rel=stylesheet]")];
  const hit = data.endsWith(".css") ? sheets.filter(({ href }) => new URL(href).pathname.endsWith("/" + data.split("/").pop())) : [];
  if (hit.length === 0) return reload();
  for (const link of hit) {
    const [, sheet, hash] = /^([^#]*?)(?:[?&]live=\\d+)?(#.*)?$/.exec(link.href);
    link.href = sheet + (sheet.includes("?") ? "&" : "?") + "live=" + Date.now() + (hash ?? "");
  }
});
events.addEventListener("open", () => lost && reload());
events.addEventListener("error", () => { lost = true; });
}
`;

/** Reloads open pages when files change. It adds a script to each response and leaves the files unchanged. */
export class LiveReload {
  readonly #listeners = new Set<Listener>();
  readonly #changed = new Set<string>();
  readonly #watcher: { close(): void };
  readonly #ping: ReturnType<typeof setInterval>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firstAt = 0;
  // Each run starts with another number.
  #told = Date.now();

  /** Watches a folder and all below it. */
  constructor(folder: string, log: Logger) {
    this.#watcher = watchFolder(folder, {
      onChange: (file) => this.#notice(file),
      onError: (error) => log.warn("watch_failed", { reason: describeError(error) }),
    });
    this.#ping = setInterval(() => this.#send(": still here\n\n"), PING_MS);
  }

  /** Handles requests for the script and the event stream; returns null for others. */
  answer(request: Request, target: string): Response | null {
    const [path, query] = target.split("?");
    if (path === LIVE_EVENTS) {
      return request.method === "HEAD" ? new Response(null) : this.#openEvents(new URLSearchParams(query).get("told"));
    }
    if (path !== LIVE_SCRIPT) return null;
    const headers = { "content-type": "text/javascript; charset=utf-8", "cache-control": "no-store" };
    return new Response(request.method === "HEAD" ? null : SCRIPT, { headers });
  }

  /** Sends a page with the script in it. Closes its file. */
  sendPage(request: Request, page: FilePage): Promise<Response> {
    return sendWithScript(request, page, `<script src="${LIVE_SCRIPT}?told=${this.#told}" async></script>`);
  }

  #notice(file: string): void {
    if (/(?:^|\/)(?:\.|node_modules\/)|~$/.test(file)) return;
    const now = Date.now();
    if (this.#changed.size === 0) this.#firstAt = now;
    this.#changed.add(file);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#tell(),
      Math.min(SETTLE_MS, Math.max(0, this.#firstAt + MAX_WAIT_MS - now)),
    );
  }

  #tell(): void {
    const names = [...this.#changed];
    this.#changed.clear();
    this.#told++;
    // The page replaces a single stylesheet and reloads for other changes.
    this.#send(describeChange(names.length === 1 ? names[0] : ""));
  }

  #send(text: string): void {
    const bytes = encoder.encode(text);
    for (const listener of this.#listeners) {
      // Skip a page that has stopped reading.
      if ((listener.desiredSize ?? 0) > -100) listener.enqueue(bytes);
    }
  }

  #openEvents(known: string | null): Response {
    if (this.#listeners.size >= MAX_LISTENERS) {
      return new Response(null, { status: 503, headers: { "retry-after": "10" } });
    }
    let own: Listener;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        own = controller;
        this.#listeners.add(controller);
        const missed = known !== null && known !== String(this.#told) ? describeChange("") : "";
        controller.enqueue(encoder.encode(`retry: 500\n\n${missed}`));
      },
      cancel: () => void this.#listeners.delete(own),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
  }

  close(): void {
    this.#watcher.close();
    clearInterval(this.#ping);
    clearTimeout(this.#timer);
    for (const listener of this.#listeners) listener.close();
    this.#listeners.clear();
  }
}

/** Returns the event for a changed file; "" means several files. */
function describeChange(name: string): string {
  return `event: change\ndata: ${name.replace(/[\r\n]/g, "")}\n\n`;
}

/** Largest page, in bytes, that gets the script. */
const MAX_PAGE = 8 * 1024 * 1024;

async function sendWithScript(request: Request, { file, name, status }: FilePage, tag: string): Promise<Response> {
  const headers = { "cache-control": "no-store" };
  if (file.stat.size > MAX_PAGE) return answerFile(request, file, { name, headers, status });
  const { bytes, type } = await readPage(file, name);
  const body = /utf-16/.test(type) ? bytes : insertTag(bytes, tag);
  return new Response(request.method === "HEAD" ? null : body, {
    status: status ?? 200,
    headers: {
      ...headers,
      "content-type": type,
      "content-length": String(body.length),
      "x-content-type-options": "nosniff",
    },
  });
}

async function readPage(file: OpenFile, name: string): Promise<{ bytes: Buffer<ArrayBuffer>; type: string }> {
  const plain = await answerFile(new Request("http://page/"), file, { name });
  return { bytes: Buffer.from(await plain.arrayBuffer()), type: plain.headers.get("content-type") ?? "text/html" };
}

function insertTag(page: Buffer<ArrayBuffer>, tag: string): Buffer<ArrayBuffer> {
  // Latin-1 keeps every byte, whatever the page's charset is.
  const text = page.toString("latin1");
  const end = text.search(/<\/(?:head|body)>/i);
  return Buffer.from(end < 0 ? text + tag : text.slice(0, end) + tag + text.slice(end), "latin1");
}
