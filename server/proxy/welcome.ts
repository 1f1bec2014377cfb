import { Buffer } from "node:buffer";
import { escapeHtml } from "../../common/http_error.ts";
import { PROJECT, RELEASE } from "../../common/release.ts";

export interface WelcomeOptions {
  /** Where this server is reached, without a slash at the end. */
  baseUrl: string;
  /** Whether local files are served. */
  files: boolean;
  /** Whether URLs may stand right behind {@link baseUrl}. */
  openPaths: boolean;
}

/** The endpoints of the proxy: method, path, what it is for. */
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

/** Name, version label, endpoints and project, for whoever asks for `/`: a page for browsers, text for all others. */
export function welcome(accept: string | null, options: WelcomeOptions): Response {
  const isPage = accept?.includes("text/html") ?? false;
  const body = isPage ? renderPage(options) : renderText(options);
  return new Response(body, {
    headers: {
      // HEAD has no body that would tell.
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
:root{color-scheme:light dark}
body{margin:0 auto;max-width:44rem;padding:3rem 1.5rem;font:16px/1.5 system-ui,sans-serif;
background:light-dark(#f6f7f9,#14161a);color:light-dark(#1c2430,#e6e9ee)}
h1{margin:0 0 .25rem}td{padding:.3rem 1rem .3rem 0;vertical-align:top}
pre{overflow:auto;padding:1rem;border-radius:.5rem;background:light-dark(#e9ecf1,#1e2229)}
</style></head><body>
<h1>${PROJECT} proxy</h1>
<p>Version ${escapeHtml(RELEASE)}. Part of ${PROJECT}: tunnels, request views and a CORS proxy in one program.</p>
<h2>Endpoints</h2><table>${rows.join("")}</table>
<h2>Try it</h2><pre><code>${escapeHtml(example)}</code></pre>
</body></html>
`;
}
