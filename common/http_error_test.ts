import assert from "node:assert/strict";
import { errorResponse, escapeHtml, expectationFailed, HttpError, loopDetected } from "./http_error.ts";

Deno.test("loopDetected has the body that the status is read for, code as an integer", async () => {
  const response = errorResponse(loopDetected("a calls b calls a"), "text/html");
  assert.equal(response.status, 508);
  assert.equal(response.headers.get("portway-error"), "loop_detected");
  assert.equal(
    await response.text(),
    '{"error":{"code":508,"message":"Loop Detected","details":"a calls b calls a"}}\n',
  );
});

Deno.test("expectationFailed has its two strings, and the optional fields where given", async () => {
  const plain = errorResponse(expectationFailed("no"), null);
  assert.deepEqual([plain.status, plain.headers.get("connection")], [417, "close"]);
  assert.equal(await plain.text(), '{"error":"Expectation Failed","message":"no"}\n');
  const full = expectationFailed("too large", {
    suggestion: "split it",
    supported_expectations: ["100-continue"],
    max_file_size: 10,
    your_file_size: 20,
  });
  assert.deepEqual(await errorResponse(full, null).json(), {
    error: "Expectation Failed",
    message: "too large",
    suggestion: "split it",
    supported_expectations: ["100-continue"],
    max_file_size: 10,
    your_file_size: 20,
  });
});

Deno.test("errorResponse is JSON, a page for browsers, and never runs a script", async () => {
  const error = new HttpError(503, "tunnel_offline", "It is <away>.", {
    details: "Later & so",
    headers: { "retry-after": "5" },
  });
  const json = errorResponse(error, "application/json");
  assert.equal(json.headers.get("content-type"), "application/json");
  assert.deepEqual(await json.json(), {
    error: { code: "tunnel_offline", message: "It is <away>.", details: "Later & so" },
  });
  const page = errorResponse(error, "text/html,*/*");
  const text = await page.text();
  assert.match(text, /It is &#60;away&#62;\./);
  assert.match(text, /Later &#38; so/);
  for (const response of [json, page]) {
    assert.equal(response.status, 503);
    assert.equal(response.headers.get("portway-error"), "tunnel_offline");
    assert.equal(response.headers.get("retry-after"), "5");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.match(response.headers.get("content-security-policy")!, /default-src 'none'.*sandbox/);
  }
});

Deno.test("errorResponse leaves details out where there are none, and the cause always", async () => {
  const error = new HttpError(500, "internal_error", "It failed.", { cause: new Error("secret") });
  assert.equal(await errorResponse(error, null).text(), '{"error":{"code":"internal_error","message":"It failed."}}\n');
});

Deno.test("escapeHtml makes text safe in content and in attributes", () => {
  assert.equal(escapeHtml(`<a href="x" title='y'>&`), "&#60;a href=&#34;x&#34; title=&#39;y&#39;&#62;&#38;");
});
