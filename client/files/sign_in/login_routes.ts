import type { FetchInfo } from "../../../common/fetch_target.ts";
import { HttpError } from "../../../common/http_error.ts";
import { ASSET_FOLDER, loadAssets } from "../page/assets.ts";
import type { Pass, PassphraseGate } from "./gate.ts";
import { checkOrigin } from "./own_hosts.ts";
import { LOGIN_ASSETS, renderLoginPage } from "../page/page.ts";
import { parseSharePath } from "../disk/share_path.ts";

/** What stands before every route of a share with a passphrase. */
export interface LoginRoutes {
  /** The answer for a visitor who may not pass, or for signing in and out; null when the request may go on. */
  answer(request: Request, info: FetchInfo): Promise<Response | null>;
}

/** Bytes of a form with a passphrase in it. */
const MAX_FORM = 8 * 1024;

/** What asks for the passphrase: a page for browsers, HTTP Basic for everyone else. */
export function createLoginRoutes(gate: PassphraseGate): LoginRoutes {
  async function answer(request: Request, info: FetchInfo): Promise<Response | null> {
    const query = readQuery(info.path);
    if (request.method === "POST" && query.has("login")) return await signIn(request, info);
    if (request.method === "POST" && query.has("logout")) return signOut(request, info);
    const pass = gate.check(request.headers, info.remoteAddress);
    if (pass.kind === "open") return null;
    return answerLoginAsset(request, info) ?? turnAway(request, pass);
  }

  async function signIn(request: Request, info: FetchInfo): Promise<Response> {
    const form = await readForm(request);
    const pass = gate.tryPassphrase(form.get("passphrase") ?? "", info.remoteAddress);
    if (pass.kind !== "open") return turnAway(request, pass);
    const headers = { "set-cookie": gate.createCookie(isSecure(request)), "cache-control": "no-store" };
    if (!wantsPage(request)) return new Response(null, { status: 204, headers });
    // Sent by the form itself: "?" leads to the same address without its query.
    return new Response(null, { status: 303, headers: { ...headers, location: "?" } });
  }

  function signOut(request: Request, info: FetchInfo): Response {
    // Else any page could sign its visitors out here.
    checkOrigin(request, info);
    return new Response(null, { status: 204, headers: { "set-cookie": gate.clearCookie(isSecure(request)) } });
  }

  return { answer };
}

function turnAway(request: Request, pass: Pass): Response {
  if (pass.kind === "wait") {
    throw new HttpError(429, "too_many_tries", "Too many wrong passphrases. Wait a little.", {
      headers: { "retry-after": String(Math.ceil(pass.milliseconds / 1000)) },
    });
  }
  if (wantsPage(request)) return renderLoginPage();
  throw new HttpError(401, "passphrase_required", "This share asks for a passphrase.", {
    // A browser that is offered Basic shows a dialog of its own over our page.
    headers: isBrowser(request) ? {} : { "www-authenticate": 'Basic realm="Portway share", charset="UTF-8"' },
  });
}

/** The files of the sign-in page; they are the same for every share. */
function answerLoginAsset(request: Request, info: FetchInfo): Response | null {
  if (request.method !== "GET" || !info.path.startsWith(`/${ASSET_FOLDER}/`)) return null;
  const { segments } = parseSharePath(info.path);
  return LOGIN_ASSETS.includes(segments.slice(2).join("/"))
    ? loadAssets().answer(segments, request.headers.get("accept-encoding"))
    : null;
}

async function readForm(request: Request): Promise<URLSearchParams> {
  if (!(Number(request.headers.get("content-length") ?? NaN) <= MAX_FORM)) {
    throw new HttpError(413, "form_too_large", "A passphrase is shorter than this.");
  }
  return new URLSearchParams(await request.text());
}

function readQuery(path: string): URLSearchParams {
  const mark = path.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : path.slice(mark));
}

function isSecure(request: Request): boolean {
  return request.headers.get("x-forwarded-proto") === "https";
}

function wantsPage(request: Request): boolean {
  return request.headers.get("accept")?.includes("text/html") ?? false;
}

function isBrowser(request: Request): boolean {
  return wantsPage(request) || request.headers.has("sec-fetch-mode") || request.headers.has("x-portway-page");
}
