import { randomBytes } from "node:crypto";
import { escapeHtml, type HttpError } from "../../../common/http_error.ts";
import { ASSET_FOLDER, loadAssets, PAGE_FOLDER } from "./assets.ts";

/** What the browser page is told about the share. */
export interface ShareFacts {
  /** Name of the shared folder. */
  name: string;
  writable: boolean;
  /** Whether there is a passphrase, so that the page can offer to sign out. */
  protected: boolean;
  /** Bytes, or null for no limit. */
  maxUpload: number | null;
}

/**
 * The page of a folder, or of what a search found. The listing comes inside it, so that it shows after one round trip.
 * @param listing the entries as a JSON array
 * @param isPartial whether a search may have found more
 */
export function renderFolderPage(facts: ShareFacts, listing: string, isPartial = false): Response {
  const { version, getText } = loadAssets();
  const nonce = randomBytes(16).toString("base64");
  const data = `{"share":${JSON.stringify(facts)},"entries":${listing},"isPartial":${isPartial}}`;
  const html = fill(getText(`${PAGE_FOLDER}/page.html`), {
    nonce,
    assets: `/${ASSET_FOLDER}/${version}`,
    title: escapeHtml(facts.name),
    // "<" cannot end the element early when it is written so.
    data: data.replaceAll("<", "\\u003c"),
  });
  const bytes = new TextEncoder().encode(html);
  return new Response(bytes, { headers: { ...describePage(nonce), "content-length": String(bytes.length) } });
}

/** A page of ours whose text has places for `values`, which must be safe in HTML. */
export function renderAssetPage(file: string, values: Readonly<Record<string, string>>): Response {
  const { version, getText } = loadAssets();
  const nonce = randomBytes(16).toString("base64");
  const html = fill(getText(`${PAGE_FOLDER}/${file}`), { ...values, nonce, assets: `/${ASSET_FOLDER}/${version}` });
  const bytes = new TextEncoder().encode(html);
  return new Response(bytes, { headers: { ...describePage(nonce), "content-length": String(bytes.length) } });
}

/** The page that asks for the passphrase. It says nothing of what is shared. */
export function renderLoginPage(): Response {
  const { version, getText } = loadAssets();
  const nonce = randomBytes(16).toString("base64");
  const html = fill(getText(`${PAGE_FOLDER}/login.html`), { nonce, assets: `/${ASSET_FOLDER}/${version}` });
  return new Response(html, {
    status: 401,
    headers: { ...describePage(nonce), "portway-error": "passphrase_required" },
  });
}

/**
 * The page for what cannot be shown, with ways back to the share.
 * @param path what was asked for, byte for byte
 */
export function renderErrorPage(facts: ShareFacts, error: HttpError, path: string): Response {
  const { status, code, message, headers } = error;
  const { version, getText } = loadAssets();
  const nonce = randomBytes(16).toString("base64");
  const html = fill(getText(`${PAGE_FOLDER}/error.html`), {
    nonce,
    assets: `/${ASSET_FOLDER}/${version}`,
    status: String(status),
    message: escapeHtml(message),
    name: escapeHtml(facts.name),
    // A path that begins with two slashes would be the name of another site.
    above: escapeHtml(`/${path.replace(/[?#].*$/s, "").replace(/[^/]*\/?$/, "").replace(/^\/+/, "")}`),
  });
  return new Response(html, { status, headers: { ...headers, ...describePage(nonce), "portway-error": code } });
}

/** Assets that are sent to visitors who have not answered yet. */
export const LOGIN_ASSETS: readonly string[] = [
  `${PAGE_FOLDER}/login.js`,
  `${PAGE_FOLDER}/css/login.css`,
  `${PAGE_FOLDER}/css/theme.css`,
  "web/browser/dom.js",
  "web/styles/tokens.css",
  "web/styles/base.css",
];

function describePage(nonce: string): Record<string, string> {
  return {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    // The nonce and not 'self': files of the share come from the same origin, and none of them is a script of ours.
    "content-security-policy": `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; ` +
      "img-src 'self' data: blob:; media-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; " +
      "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    // So much that the Origin of our own forms is told, and nothing to other sites.
    "referrer-policy": "same-origin",
    "vary": "accept, cookie",
  };
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  // The place of the data is written as a JSON string, so that the template is well-formed by itself.
  return template.replace(/"\{\{data\}\}"|\{\{ ?(\w+) ?\}\}/g, (_, name = "data") => values[name] ?? "");
}
