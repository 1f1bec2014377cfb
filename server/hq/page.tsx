import { Buffer } from "node:buffer";
import type { Child } from "hono/jsx";
import { HttpError } from "../../common/http_error.ts";
import type { HqContext, HqSite, Viewer } from "./types.ts";
import { Layout, Notice, type Section } from "./ui/mod.ts";

/** A page of HQ, less what all of them have. */
export interface HqPage {
  title: string;
  content: Child;
  section?: Section;
  /** 200 when left out. */
  status?: number;
  /** Names of modules and stylesheets in assets/ that only this page needs. */
  scripts?: readonly string[];
  styles?: readonly string[];
  shape?: "wide" | "narrow" | "landing";
  /** Origins besides HQ's that a form of the page may lead to. */
  formTargets?: readonly string[];
}

/** Where files of pages are: below it come their version and name. */
export const ASSETS_PATH = "/hq/";

/** Answers with a page. */
export function servePage(context: HqContext, page: HqPage): Response {
  return renderPage(context.var.site, context.var.viewer, page);
}

/** {@link servePage} where there is no context, as for errors. */
function renderPage(site: HqSite, viewer: Viewer | null, page: HqPage): Response {
  const asset = (name: string) => `${ASSETS_PATH}${site.assets.version}/${site.assets.findPath(name)}`;
  const { title, section, scripts, styles, shape, content } = page;
  // No component of ours waits for anything, so the text is there at once.
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
  // A path and not 'self': what visitors captured and what the proxy fetched may lie on the same origin.
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
    // So much that the Origin of our own forms is told, and nothing to other sites.
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "vary": "accept, cookie",
  };
}

/** Redirects to another page of HQ after a form. @param path a path of HQ, never unchecked input: see {@link safeNext} */
export function goTo(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location: encodeLocation(path), "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}

/** A URL reference in the characters that a Location field may have; percent-encoded parts stay as they are. */
function encodeLocation(url: string): string {
  return url.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** Where to go on after signing in: a path of ours, else `fallback`. Anything that could lead to another site is refused. */
export function safeNext(next: string | null | undefined, fallback = "/tunnels"): string {
  // One slash, and no backslash or control character, which browsers read as a slash or leave out.
  // deno-lint-ignore no-control-regex -- what must not pass
  return next && /^\/(?![/\\])[^\\\x00-\x20]*$/.test(next) ? next : fallback;
}

/** The viewer of a page that is for those who signed in. @throws HttpError 401, which becomes a way to the sign-in page */
export function requireViewer(context: HqContext): Viewer {
  const { viewer } = context.var;
  if (viewer === null) throw new HttpError(401, "unauthorized", "This page needs you to sign in.");
  return viewer;
}

/** The page that says what went wrong. */
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

/** Messages after a form, by the code in `?done=`. */
export function doneNotice(context: HqContext, messages: Readonly<Record<string, string>>): Child {
  const code = context.req.query("done");
  return code !== undefined && Object.hasOwn(messages, code) ? <Notice tone="good">{messages[code]}</Notice> : null;
}

/** Bytes of a form: texts of people, never files. */
const MAX_FORM_BYTES = 64 * 1024;

/** What is wrong with fields of a form, by their names; under `form` what concerns no single one. */
export type FormProblems = Readonly<Record<string, string | undefined>>;

/** A form as it was sent, to be shown again with what is wrong. */
export interface FormState {
  values: Readonly<Record<string, string>>;
  problems: FormProblems;
  /** 200, or that of the error. */
  status: number;
}

/** A form that nobody has filled in. */
export const EMPTY_FORM: FormState = { values: {}, problems: {}, status: 200 };

/**
 * The fields of a posted form.
 * @throws HttpError 413 or 415 for what no form of ours sends
 */
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

/**
 * The form with what a function said against it, for the fields it may name.
 * @throws `error` when it is nothing that a form could mend
 */
export function refuseForm(fields: URLSearchParams, error: unknown, names: readonly string[] = []): FormState {
  if (!(error instanceof HttpError) || error.status >= 500) throw error;
  // As programs are told it; here the field says itself which it is.
  const message = error.message.replace(/^Field "[^"]*" /, "It ");
  const text = error.details === undefined ? message : `${message} ${error.details}`;
  const named = fieldOf(error);
  const field = named !== undefined && names.includes(named) ? named : "form";
  return { values: Object.fromEntries(fields), problems: { [field]: text }, status: error.status };
}

/** A field of a form; "" when it was not sent. */
export const textOf = (fields: URLSearchParams, name: string): string => fields.get(name) ?? "";

/** The field that an error is about, as programs are told it. */
function fieldOf({ body }: HttpError): string | undefined {
  const told = body?.error;
  if (typeof told !== "object" || told === null || !("field" in told)) return undefined;
  return typeof told.field === "string" ? told.field : undefined;
}
