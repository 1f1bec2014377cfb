import { createHash } from "node:crypto";
import { escapeHtml } from "../../common/http_error.ts";

const STYLE = `
:root{color-scheme:light dark}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
background:light-dark(#f5f6fa,#0f1218);color:light-dark(#1b2230,#e8ebf1)}
main{width:100%;max-width:27rem;padding:2.25rem;border:1px solid light-dark(#e4e7ee,#272d39);border-radius:16px;
background:light-dark(#fff,#171b23);box-shadow:0 1px 2px rgb(16 24 40/6%),0 8px 24px rgb(16 24 40/8%)}
svg{display:block;width:44px;height:44px;margin-bottom:1.25rem}
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}
p{margin:.5rem 0 0;color:light-dark(#566072,#a3adbe);overflow-wrap:anywhere}
strong{color:light-dark(#1b2230,#e8ebf1)}
@media (forced-colors:active){main{border-color:CanvasText}}
`;

const MARK = `<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9" fill="#3b5bdb"/>
<path d="M6 25V16a10 10 0 0 1 20 0v9M12.2 25v-8.4a3.8 3.8 0 0 1 7.6 0V25" fill="none" stroke="#fff" stroke-width="3.2"
stroke-linecap="round"/></svg>`;

/** The final page of a browser login. */
export interface LoginPage {
  status: number;
  title: string;
  /** Plain-text sentences, in which {@link strong} marks emphasis. */
  sentences: readonly string[];
}

/** Renders the page as HTML without scripts. */
export function renderResultPage({ title, sentences }: LoginPage): string {
  const lines = sentences.map((sentence) =>
    `<p>${escapeHtml(sentence).replace(/\u2068([^\u2069]*)\u2069/g, "<strong>$1</strong>")}</p>`
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex"><title>${escapeHtml(title)} · Portway</title><style>${STYLE}</style></head>
<body><main>${MARK}<h1>${escapeHtml(title)}</h1>${lines.join("")}</main></body></html>
`;
}

/** Marks text as emphasized, after removing marks inside it. */
export const strong = (text: string): string => `\u2068${text.replace(/[\u2068\u2069]/g, "")}\u2069`;

/** Response headers. They allow only the page's own style, and forbid framing and caching. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${
    createHash("sha256").update(STYLE).digest("base64")
  }'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox`,
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "connection": "close",
};
