/**
 * Field names that a configured response may have, in lower case. All other fields act beyond the response: on the
 * connection, on the browser's state for this origin, or on a reverse proxy.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  "accept",
  "accept-patch",
  "accept-post",
  "accept-ranges",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  "access-control-expose-headers",
  "access-control-max-age",
  "age",
  "allow",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-location",
  "content-range",
  "content-type",
  "deprecation",
  "etag",
  "expires",
  "idempotency-key",
  "last-modified",
  "location",
  "pragma",
  "preference-applied",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "server",
  "sunset",
  "vary",
  "warning",
]);

/** Names that webhook senders define: `X-…`, CloudEvents' `ce-…`, and `WebHook-…` for its abuse protection. */
const CUSTOM = /^(?:x|ce|webhook)-[\w.-]+$/;
/** Custom names that browsers or reverse proxies (nginx, lighttpd, LiteSpeed, Apache) obey. */
const OBEYED = /^x-(?:accel|sendfile|send-file|lighttpd|litespeed|ls|lsadc|reproxy|content-type-options|dns-prefetch)/;

/** Whether a configured response may have a field. @param name in any case */
export function isResponseField(name: string): boolean {
  const known = name.toLowerCase();
  return ALLOWED.has(known) || (CUSTOM.test(known) && !OBEYED.test(known));
}
