import { randomBytes } from "node:crypto";
import { formatBytes } from "../../../common/format.ts";
import { escapeHtml } from "../../../common/http_error.ts";
import { getStyleText } from "../../../web/styles/styles.ts";
import { serializePath } from "../disk/share_path.ts";
import type { ListedEntry } from "../serve/listing.ts";
import type { ShareFacts } from "./page.ts";

/** A folder, or the hits of a search in it, as its page without script shows it. */
export interface PlainPage {
  facts: ShareFacts;
  segments: readonly string[];
  /** In the order to be shown. */
  entries: readonly ListedEntry[];
  /** Links that order the list anew: for people, while a program that follows every link would get it many times. */
  isSortable: boolean;
}

const STYLE = "body{font:var(--text-body)/1.5 var(--sans);margin:2rem auto;max-width:60rem;padding:0 1rem;" +
  "background:var(--back);color:var(--text)}a{color:var(--accent)}table{border-collapse:collapse;width:100%}" +
  "th,td{text-align:left;padding:.2rem .75rem .2rem 0}" +
  "td:first-child{overflow-wrap:anywhere}td+td,th+th{white-space:nowrap}";

/** A folder as HTML with links and without script, for text browsers, mirrors and whoever switches script off. */
export function renderPlainPage({ facts, segments, entries, isSortable }: PlainPage): Response {
  const nonce = randomBytes(16).toString("base64");
  const title = escapeHtml([facts.name, ...segments].join("/"));
  const columns: [string, string][] = [["name", "Name"], ["size", "Size"], ["modified", "Modified"]];
  const head = columns.map(([key, text]) =>
    `<th>${isSortable ? `<a href="?plain&amp;sort=${key}">${text}</a>` : text}</th>`
  );
  const up = segments.length === 0 ? "" : '<tr><td><a href="../">../</a></td><td></td><td></td></tr>\n';
  const upload = facts.writable
    ? '<form method="post" enctype="multipart/form-data"><input type="file" name="file" multiple required> ' +
      "<button>Upload</button></form>\n"
    : "";
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex"><title>${title}</title>
<style nonce="${nonce}">${getStyleText("tokens.css")}${STYLE}</style></head>
<body><h1>${title}</h1>
<table><tr>${head.join("")}</tr>
${up}${entries.map(renderRow).join("")}</table>
${upload}</body></html>
`;
  const bytes = new TextEncoder().encode(html);
  return new Response(bytes, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-length": String(bytes.length),
      "cache-control": "no-store",
      "content-security-policy": `default-src 'none'; style-src 'nonce-${nonce}'; form-action 'self'; ` +
        "base-uri 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "vary": "accept, cookie, user-agent",
    },
  });
}

function renderRow({ name, kind, size, modified }: ListedEntry): string {
  const isFolder = kind === "folder";
  // Relative, and with the names of a hit escaped one by one.
  const href = escapeHtml(serializePath(name.split("/"), isFolder).slice(1));
  const time = new Date(modified).toISOString().slice(0, 16).replace("T", " ");
  return `<tr><td><a href="${href}">${escapeHtml(name)}${isFolder ? "/" : ""}</a></td>` +
    `<td>${isFolder ? "" : formatBytes(size)}</td><td>${time}</td></tr>\n`;
}
