import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Exchange } from "../../net/listener/mod.ts";
import { createDocs } from "./docs.ts";

const PAGE = `<html><script id="a">dark()</script><script src="/docs/assets/app.js"></script></html>`;

/** Asks the site for a path. @returns null when the handler leaves the request to others */
async function get(path: string, { method = "GET", host = "own.example", fields = {}, files = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "portway-docs-"));
  try {
    if (files) {
      mkdirSync(join(folder, "assets"));
      mkdirSync(join(folder, "reference"));
      writeFileSync(join(folder, "index.html"), PAGE);
      writeFileSync(join(folder, "404.html"), "missing");
      writeFileSync(join(folder, "reference/errors.html"), PAGE);
      writeFileSync(join(folder, "assets/app.js"), "start()".repeat(100));
    }
    const docs = createDocs({ isOwnHost: (name) => name === "own.example", folder: pathToFileURL(`${folder}/`) });
    const exchange = { method, path, host, header: (name: string) => (fields as Record<string, string>)[name] ?? null };
    return await docs.handle(exchange as unknown as Exchange) ?? null;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("the documentation is served with clean URLs, and its scripts by hash only", async () => {
  for (
    const path of ["/docs/", "/docs/reference/errors", "/docs/reference/errors.html", "/docs/reference/errors?a=b"]
  ) {
    const response = await get(path);
    equal(response?.status, 200, path);
    equal(response?.headers.get("content-type"), "text/html; charset=utf-8");
    match(
      response?.headers.get("content-security-policy") ?? "",
      /script-src 'self' 'sha256-[A-Za-z0-9+/]{43}='; style/,
    );
  }
  equal((await get("/docs"))?.headers.get("location"), "/docs/");
});

Deno.test("assets of the documentation are cached for a year and compressed", async () => {
  const response = await get("/docs/assets/app.js", { fields: { "accept-encoding": "gzip" } });
  equal(response?.headers.get("content-encoding"), "gzip");
  match(response?.headers.get("cache-control") ?? "", /immutable/);
  equal((await get("/docs/assets/app.js"))?.headers.get("content-encoding"), null);
});

Deno.test("a page of the documentation that did not change is 304", async () => {
  const etag = (await get("/docs/"))?.headers.get("etag") ?? "";
  equal((await get("/docs/", { fields: { "if-none-match": etag } }))?.status, 304);
});

Deno.test("the documentation leaves other hosts and paths alone, and no path leads out of it", async () => {
  deepEqual(await get("/docs/", { host: "tunnel.example" }), null);
  deepEqual(await get("/docsearch"), null);
  for (const path of ["/docs/../mod.ts", "/docs/%2e%2e/mod.ts", "/docs/gone", "/docs/assets/"]) {
    equal((await get(path))?.status, 404, path);
  }
});

Deno.test("the documentation refuses methods that change, and says when it is not installed", async () => {
  await rejects(async () => await get("/docs/", { method: "POST" }), { status: 405 });
  await rejects(async () => await get("/docs/", { files: false }), { status: 404, code: "not_found" });
});
