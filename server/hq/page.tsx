import { Buffer } from "node:buffer";
import type { Child } from "hono/jsx";
import { HttpError } from "../../common/http_error.ts";
import type { HqContext, HqSite, Viewer } from "./types.ts";
import { Layout, Notice, type Section } from "./ui/mod.ts";

/** A page without the parts that all pages share. */
export interface HqPage {
  title: string;
  content: Child;
  section?: Section;
  /** 200 by default. */
  status?: number;
  /** Modules and stylesheets for this page only, by file name. */
  scripts?: readonly string[];
  styles?: readonly string[];
  shape?: "wide" | "narrow" | "landing";
  /** Origins besides HQ's to which the page's forms may lead. */
  formTargets?: readonly string[];
}

/** Path prefix for page files. */
export const ASSETS_PATH = "/hq/";

/** Responds with a page. */
export function servePage(context: HqContext, page: HqPage): Response {
  return renderPage(context.var.site, context.var.viewer, page);
}

/** Renders a page without a request context, for errors. */
function renderPage(site: HqSite, viewer: Viewer | null, page: HqPage): Response {
  const asset = (name: string) => `${ASSETS_PATH}${site.assets.version}/${site.assets.findPath(name)}`;
  const { title, section, scripts, styles, shape, content } = page;
  // No component waits, so the text is complete at once.
  const html = String(
    <Layout {...{ title, viewer, section, asset, scripts, styles, shape, canSignUp: site.canSignUp }}>
      {content}
    </Layout>,
  );
  const body = `<!doctype html>${html}`;
  return new Response(body, {
    status: page.status ?? 200,
    headers: { ...pageHeaders(site, page.formTargets), "content-length": String(Buffer.byteLength(body)) },
  });
}

function pageHeaders({ url }: HqSite, formTargets: readonly string[] = []): Record<string, string> {
  // A path instead of 'self', because captured and proxied responses can have the same origin.
  const own = url.origin + ASSETS_PATH;
  return {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": [
      "default-src 'none'",
      `script-src ${own}`,
      `style-src ${own}`,
      `img-src ${own} data:`,
      "connect-src 'self'",
      `form-action ${["'self'", ...formTargets].join(" ")}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    // HQ's own forms send their Origin. Other sites get no referrer.
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "vary": "accept, cookie",
  };
}

/** Redirects to another HQ page after a form. @param path an HQ path, never unchecked input: see {@link safeNext} */
export function goTo(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location: encodeLocation(path), "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}

/** Percent-encodes the characters that a Location field cannot contain. */
function encodeLocation(url: string): string {
  return url.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** Returns an HQ path to continue at, else `fallback`. Text that could lead to another site is refused. */
export function safeNext(next: string | null | undefined, fallback = "/tunnels"): string {
  // One slash, without backslashes and control characters, which browsers treat as a slash or drop.
  // deno-lint-ignore no-control-regex -- what must not pass
  return next && /^\/(?![/\\])[^\\\x00-\x20]*$/.test(next) ? next : fallback;
}

/** Returns the signed-in viewer. @throws HttpError 401, which becomes a redirect to the sign-in page */
export function requireViewer(context: HqContext): Viewer {
  const { viewer } = context.var;
  if (viewer === null) throw new HttpError(401, "unauthorized", "This page needs you to sign in.");
  return viewer;
}

/** Renders an error page. */
export function renderError(site: HqSite, viewer: Viewer | null, error: HttpError): Response {
  const response = renderPage(site, viewer, {
    title: error.message,
    status: error.status,
    shape: "narrow",
    content: (
      <div class="card failure">
        <p class="status">{`${error.status} ${error.code}`}</p>
        <h1>{error.message}</h1>
        {error.details && <p>{error.details}</p>}
        <a class="button" href="/">Go to the start page</a>
      </div>
    ),
  });
  response.headers.set("portway-error", error.code);
  for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value);
  return response;
}

/** Returns the message after a form, by the code in `?done=`. */
export function doneNotice(context: HqContext, messages: Readonly<Record<string, string>>): Child {
  const code = context.req.query("done");
  return code !== undefined && Object.hasOwn(messages, code) ? <Notice tone="good">{messages[code]}</Notice> : null;
}

/** Most bytes in a form, which contains short texts and never files. */
const MAX_FORM_BYTES = 64 * 1024;

/** Problems of a form by field name; `form` for a problem without a single field. */
export type FormProblems = Readonly<Record<string, string | undefined>>;

/** A submitted form with its problems, to show it again. */
export interface FormState {
  values: Readonly<Record<string, string>>;
  problems: FormProblems;
  /** 200, or the error's status. */
  status: number;
}

/** An empty form. */
export const EMPTY_FORM: FormState = { values: {}, problems: {}, status: 200 };

/** Reads a posted form. @throws HttpError 413 or 415 for a body that no HQ form sends */
export async function readForm(context: HqContext): Promise<URLSearchParams> {
  const { exchange } = context.env;
  const type = exchange.header("content-type")?.split(";")[0].trim().toLowerCase();
  if (exchange.hasBody && type !== "application/x-www-form-urlencoded") {
    throw new HttpError(415, "unsupported_form", "This form cannot be read.");
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    size += piece.length;
    if (size > MAX_FORM_BYTES) throw new HttpError(413, "form_too_large", "This form is too long.");
    pieces.push(piece.slice());
  }
  return new URLSearchParams(Buffer.concat(pieces).toString("utf8"));
}

/** Returns the form with an error beside the field that it names. @throws `error` when the user cannot correct it */
export function refuseForm(fields: URLSearchParams, error: unknown, names: readonly string[] = []): FormState {
  if (!(error instanceof HttpError) || error.status >= 500) throw error;
  // The API names the field. Beside the field its name is redundant.
  const message = error.message.replace(/^Field "[^"]*" /, "It ");
  const text = error.details === undefined ? message : `${message} ${error.details}`;
  const named = fieldOf(error);
  const field = named !== undefined && names.includes(named) ? named : "form";
  return { values: Object.fromEntries(fields), problems: { [field]: text }, status: error.status };
}

/** Returns a form field; "" when it is missing. */
export const textOf = (fields: URLSearchParams, name: string): string => fields.get(name) ?? "";

/** Returns the field that an API error names. */
function fieldOf({ body }: HttpError): string | undefined {
  const details = body?.error;
  if (typeof details !== "object" || details === null || !("field" in details)) return undefined;
  return typeof details.field === "string" ? details.field : undefined;
}
