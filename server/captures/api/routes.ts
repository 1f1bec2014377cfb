import { Hono } from "hono";
import { type ApiArea, badField, readJsonBody } from "../../http/mod.ts";
import { streamPieces } from "../../../net/file_http/mod.ts";
import type { Exchange, ExchangeEnv } from "../../../net/listener/mod.ts";
import type { Authenticate } from "../../access/mod.ts";
import { describeOpened } from "../service/describe.ts";
import type { CaptureSearch, CaptureTextFilter } from "../service/search.ts";
import type { ViewService } from "../service/view_service.ts";
import { MAX_LIMIT, MAX_OPENED, VIEWS_API } from "./open_api.ts";

const NO_STORE = { "cache-control": "no-store" };
/** Bytes of a view's description. The configured response body may have 64 Ki characters. */
const MAX_DESCRIPTION = 512 * 1024;
const DEFAULT_LIMIT = 100;

/** Creates the API for views and captures. */
export function createViewsApi(service: ViewService, authenticate: Authenticate): ApiArea {
  const routes = new Hono<ExchangeEnv>();
  const authenticateCaller = ({ env }: { env: { exchange: Exchange } }) => authenticate(env.exchange);
  const bodyOf = ({ env }: { env: { exchange: Exchange } }) => readJsonBody(env.exchange, MAX_DESCRIPTION);

  routes.get("/api/v1/views", async (context) => {
    return context.json({ views: await service.list(await authenticateCaller(context)) }, 200, NO_STORE);
  });
  routes.post("/api/v1/views", async (context) => {
    const caller = await authenticateCaller(context);
    const input = context.env.exchange.hasBody ? await bodyOf(context) : {};
    return context.json(await service.create(caller, input), 201, NO_STORE);
  });
  routes.get("/api/v1/views/:id", async (context) => {
    return context.json(await service.get(await authenticateCaller(context), context.req.param("id")), 200, NO_STORE);
  });
  routes.patch("/api/v1/views/:id", async (context) => {
    const caller = await authenticateCaller(context);
    return context.json(await service.change(caller, context.req.param("id"), await bodyOf(context)), 200, NO_STORE);
  });
  routes.delete("/api/v1/views/:id", async (context) => {
    await service.remove(await authenticateCaller(context), context.req.param("id"));
    return context.body(null, 204, NO_STORE);
  });
  addCaptureRoutes(routes, service, authenticateCaller);
  return { routes, describe: VIEWS_API };
}

function addCaptureRoutes(
  routes: Hono<ExchangeEnv>,
  service: ViewService,
  authenticateCaller: (context: { env: { exchange: Exchange } }) => ReturnType<Authenticate>,
): void {
  routes.get("/api/v1/views/:id/captures", async (context) => {
    const search = parseSearch((name) => context.req.query(name));
    return context.json(
      await service.search(await authenticateCaller(context), context.req.param("id"), search),
      200,
      NO_STORE,
    );
  });
  routes.delete("/api/v1/views/:id/captures", async (context) => {
    const filter = parseFilter((name) => context.req.query(name));
    const removed = await service.removeCaptures(await authenticateCaller(context), context.req.param("id"), filter);
    return context.json({ removed }, 200, NO_STORE);
  });
  routes.get("/api/v1/views/:id/captures/:capture", async (context) => {
    const { id, capture } = context.req.param();
    return context.json(
      describeOpened(await service.getCapture(await authenticateCaller(context), id, capture)),
      200,
      NO_STORE,
    );
  });
  routes.delete("/api/v1/views/:id/captures/:capture", async (context) => {
    const { id, capture } = context.req.param();
    await service.removeCapture(await authenticateCaller(context), id, capture);
    return context.body(null, 204, NO_STORE);
  });
  routes.post("/api/v1/views/:id/captures/:capture/restore", async (context) => {
    const { id, capture } = context.req.param();
    await service.restoreCapture(await authenticateCaller(context), id, capture);
    return context.body(null, 204, NO_STORE);
  });
  routes.get("/api/v1/views/:id/captures/:capture/body", async (context) => {
    const { id, capture } = context.req.param();
    const isDecoded = parseFlag("decoded", context.req.query("decoded"));
    const caller = await authenticateCaller(context);
    const opened = await service.getCapture(caller, id, capture);
    const headers: Record<string, string> = { ...BODY_HEADERS, ...nameFile(opened.cursor) };
    if (isDecoded) {
      const { first, rest } = await service.beginDecoded(opened);
      return new Response(streamPieces(service.endWithPermission(caller, rest), first), { headers });
    }
    headers["content-length"] = String(opened.bodySize);
    return new Response(streamPieces(service.endWithPermission(caller, service.readBody(opened))), { headers });
  });
  routes.post("/api/v1/views/:id/captures/:capture/replay", async (context) => {
    const { id, capture } = context.req.param(), { exchange } = context.env;
    const caller = await authenticateCaller(context);
    const input = exchange.hasBody ? await readJsonBody(exchange, MAX_DESCRIPTION) : {};
    const result = await service.replay(caller, id, capture, input, exchange.signal);
    return "response" in result ? context.json(result.response, 200, NO_STORE) : context.json(result, 201, NO_STORE);
  });
  routes.get("/api/v1/views/:id/stream", async (context) => {
    const from = parseStart(context.req.header("last-event-id"), (name) => context.req.query(name));
    const tail = await service.tail(() => authenticateCaller(context), context.req.param("id"), from);
    return new Response(tail, { headers: { ...NO_STORE, "content-type": "text/event-stream", ...UNBUFFERED } });
  });
}

/** Otherwise nginx delays events. */
const UNBUFFERED = { "x-accel-buffering": "no" };

/** Browsers neither show nor run captured bytes, because the response declares no known type. */
const BODY_HEADERS: Readonly<Record<string, string>> = {
  ...NO_STORE,
  "content-type": "application/octet-stream",
  "content-security-policy": "sandbox; default-src 'none'",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
};

const nameFile = (cursor: number) => ({ "content-disposition": `attachment; filename="capture-${cursor}"` });

/** Parses the start of a stream. A reader that reconnects continues behind its last event. @throws HttpError 400 */
function parseStart(lastEventId: string | undefined, query: Query): { after: number } | { since: number } | null {
  const after = lastEventId ?? query("after"), since = query("since");
  if (after !== undefined) return { after: parseCount("after", after) };
  return since === undefined ? null : { since: parseTime("since", since) };
}

type Query = (name: string) => string | undefined;

/** Parses a search. @throws HttpError 400 that names the parameter */
function parseSearch(query: Query): CaptureSearch {
  const withBodies = parseFlag("bodies", query("bodies") || undefined);
  const limit = parseCount("limit", query("limit") || String(DEFAULT_LIMIT));
  if (limit < 1 || limit > MAX_LIMIT) throw badField("limit", `must be from 1 to ${MAX_LIMIT}`);
  return { ...parseFilter(query), limit: Math.min(limit, withBodies ? MAX_OPENED : MAX_LIMIT), withBodies };
}

/** Parses a filter. @throws HttpError 400 that names the parameter */
function parseFilter(query: Query): CaptureTextFilter {
  const given = (name: string) => query(name) || undefined;
  const parsed = <T>(name: string, parse: (name: string, text: string) => T): T | undefined => {
    const text = given(name);
    return text === undefined ? undefined : parse(name, text);
  };
  return {
    after: parsed("after", parseCount),
    before: parsed("before", parseCount),
    method: given("method"),
    path: given("path"),
    text: given("q"),
    from: parsed("from", parseTime),
    to: parsed("to", parseTime),
  };
}

function parseFlag(name: string, text = "false"): boolean {
  if (text !== "true" && text !== "false") throw badField(name, "must be true or false");
  return text === "true";
}

function parseCount(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw badField(name, "must be a whole number");
  return Number(text);
}

/** Parses ISO 8601 or Unix milliseconds. */
function parseTime(name: string, text: string): number {
  const time = /^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text);
  if (!Number.isFinite(time)) throw badField(name, "must be a time, such as 2026-01-31T12:00:00Z");
  return time;
}
