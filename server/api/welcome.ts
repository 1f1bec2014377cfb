import { Buffer } from "node:buffer";
import { escapeHtml } from "../../common/http_error.ts";
import { getStyleText } from "../../web/styles/styles.ts";
import { PROJECT, RELEASE } from "../../common/release.ts";

/** Content for the proxy's page at `/`. */
export interface WelcomeOptions {
  /** This server's URL, without a slash at the end. */
  baseUrl: string;
  /** Whether the proxy serves local files. */
  files: boolean;
  /** Whether a URL may follow {@link baseUrl} directly. */
  openPaths: boolean;
}

/** The proxy's endpoints: method, path and purpose. */
function listEndpoints({ files, openPaths }: WelcomeOptions): [string, string, string][] {
  const endpoints: [string, string, string][] = [
    ["GET", "/health", "health check"],
    ["POST", "/proxy/request", "make the HTTP request that a JSON body describes"],
    ["POST", "/proxy/form", "make the HTTP request that a form describes, with its files"],
    ["any", "/proxy/fetch/<url>", "make this very request to another server"],
  ];
  if (openPaths) endpoints.push(["any", "/<url>", "the same"]);
  if (files) endpoints.push(["GET", "/proxy/files/<path>", "read a local file"]);
  return [...endpoints, ["GET", "/api/v1/openapi.json", "all of it for machines (OpenAPI 3.1)"]];
}

/** Responds to `/` with name, version, endpoints and project: a page for browsers, text for other clients. */
export function welcome(accept: string | null, options: WelcomeOptions): Response {
  const isPage = accept?.includes("text/html") ?? false;
  const body = isPage ? renderPage(options) : renderText(options);
  return new Response(body, {
    headers: {
      // The response to HEAD has no body to derive the length from.
      "content-length": String(Buffer.byteLength(body)),
      "content-type": `text/${isPage ? "html" : "plain"}; charset=utf-8`,
      "cache-control": "no-store",
      "vary": "accept",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    },
  });
}

function renderText(options: WelcomeOptions): string {
  const { baseUrl } = options;
  const endpoints = listEndpoints(options).map(([method, path, what]) =>
    `  ${method.padEnd(5)} ${path.padEnd(21)} ${what}`
  );
  return `${PROJECT} proxy
Version: ${RELEASE}
Part of ${PROJECT}: tunnels, request views and a CORS proxy in one program.

Endpoints:
${endpoints.join("\n")}

Try it:
  curl ${baseUrl}/proxy/request --json '{"url":"https://example.com/"}'
`;
}

function renderPage(options: WelcomeOptions): string {
  const { baseUrl } = options;
  const rows = listEndpoints(options).map(([method, path, what]) =>
    `<tr><td><code>${method}</code></td><td><code>${escapeHtml(path)}</code></td><td>${escapeHtml(what)}</td></tr>`
  );
  const example = `curl ${baseUrl}/proxy/request --json '{"url":"https://example.com/"}'`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${PROJECT} proxy</title>
<style>
${getStyleText("tokens.css")}
body{margin:0 auto;max-width:44rem;padding:var(--gap-7) var(--gap-5);font:var(--text-body)/1.5 var(--sans);
background:var(--back);color:var(--text)}
h1{margin:0 0 var(--gap-1)}td{padding:var(--gap-1) var(--gap-4) var(--gap-1) 0;vertical-align:top}
@media (max-width:34rem){tr{display:grid;grid-template-columns:3.5rem 1fr}td:last-child{grid-column:2}}
code{font-family:var(--mono);font-size:.9em}
pre{overflow:auto;padding:var(--gap-4);border:1px solid var(--line);border-radius:var(--radius);background:var(--card)}
</style></head><body>
<h1>${PROJECT} proxy</h1>
<p>Version ${escapeHtml(RELEASE)}. Part of ${PROJECT}: tunnels, request views and a CORS proxy in one program.</p>
<h2>Endpoints</h2><table>${rows.join("")}</table>
<h2>Try it</h2><pre><code>${escapeHtml(example)}</code></pre>
</body></html>
`;
}
