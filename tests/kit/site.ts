import { createNoise, hashOf } from "./noise.ts";
import { LineLog } from "./events.ts";

/** A local service of many handlers, in the process of the test. */
export interface Site extends AsyncDisposable {
  readonly port: number;
  /** What it saw, a line each: `open /path`, `gone /path`. */
  readonly log: LineLog;
  /** Lets every event stream and every `/hold` go on. */
  release(): void;
}

export interface SiteOptions {
  /** A free one when not given. */
  port?: number;
  hostname?: string;
}

/**
 * Paths:
 * - `/` a page; `/text` "hello"
 * - `/inspect` JSON of what arrived: method, url, headers, body as text
 * - `/echo` the body back as it comes
 * - `/status/<code>` that status, with a body where one is allowed
 * - `/cookies` three Set-Cookie
 * - `/noise?size=&seed=` pseudo-random bytes; `/upload` JSON with size and SHA-256 of the body
 * - `/events?type=` an event at once, the next when {@link Site.release} is called
 * - `/hold` answers when {@link Site.release} is called
 */
export function startSite({ port = 0, hostname = "127.0.0.1" }: SiteOptions = {}): Site {
  const log = new LineLog("the log of the site");
  let held = Promise.withResolvers<void>();
  const abort = new AbortController();
  const server = Deno.serve({ port, hostname, signal: abort.signal, onListen: () => {} }, async (request) => {
    const url = new URL(request.url);
    log.add(`open ${url.pathname}`);
    request.signal.addEventListener("abort", () => log.add(`gone ${url.pathname}`));
    return await answer(request, url, () => held.promise);
  });
  return {
    port: server.addr.port,
    log,
    release() {
      held.resolve();
      held = Promise.withResolvers();
    },
    async [Symbol.asyncDispose]() {
      held.resolve();
      abort.abort();
      await server.finished;
    },
  };
}

async function answer(request: Request, url: URL, held: () => Promise<void>): Promise<Response> {
  const status = /^\/status\/(\d{3})$/.exec(url.pathname);
  if (status !== null) return answerStatus(Number(status[1]));
  switch (url.pathname) {
    case "/":
      return new Response("<!doctype html><title>site</title><h1>hello</h1>", {
        headers: { "content-type": "text/html" },
      });
    case "/inspect":
      return await inspect(request);
    case "/echo":
      return new Response(request.body, {
        headers: { "content-type": request.headers.get("content-type") ?? "application/octet-stream" },
      });
    case "/cookies":
      return answerCookies();
    case "/noise":
      return answerNoise(Number(url.searchParams.get("size")), Number(url.searchParams.get("seed") ?? 1));
    case "/upload":
      return await answerUpload(request);
    case "/events":
      return answerEvents(url.searchParams.get("type") ?? "text/event-stream", held());
    case "/hold":
      await held();
      return new Response("released");
    default:
      return new Response("hello");
  }
}

function answerStatus(status: number): Response {
  const isEmpty = status === 204 || status === 304 || status === 205;
  return new Response(isEmpty ? null : `status ${status}`, { status, headers: { etag: '"a"' } });
}

async function inspect(request: Request): Promise<Response> {
  const { method, url } = request;
  return Response.json({ method, url, headers: [...request.headers], body: await request.text() });
}

function answerCookies(): Response {
  const headers = new Headers({ "content-type": "text/plain" });
  for (const cookie of ["a=1; Path=/", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "c=3"]) {
    headers.append("set-cookie", cookie);
  }
  return new Response("cookies", { headers });
}

function answerNoise(size: number, seed: number): Response {
  return new Response(ReadableStream.from(createNoise(size, seed)), {
    headers: { "content-type": "application/octet-stream" },
  });
}

async function answerUpload(request: Request): Promise<Response> {
  let size = 0;
  async function* counted() {
    for await (const piece of request.body ?? []) {
      size += piece.length;
      yield piece;
    }
  }
  const sha256 = await hashOf(counted());
  return Response.json({ size, sha256 });
}

function answerEvents(type: string, released: Promise<void>): Response {
  async function* events() {
    yield "data: first\n\n";
    await released;
    yield "data: second\n\n";
  }
  return new Response(ReadableStream.from(events()).pipeThrough(new TextEncoderStream()), {
    headers: { "content-type": type, "cache-control": "no-store" },
  });
}
