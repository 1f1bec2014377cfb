/** Registered fields that describe the content, its caching or the request's result. */
const DESCRIBING: ReadonlySet<string> = new Set([
  "accept-patch",
  "accept-post",
  "accept-ranges",
  "age",
  "allow",
  "cache-control",
  "cache-status",
  "content-digest",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-md5",
  "content-range",
  "content-type",
  "dav",
  "deprecation",
  "digest",
  "ds",
  "etag",
  "expires",
  "idempotency-key",
  "last-modified",
  "link",
  "location",
  "lock-token",
  "mime-version",
  "ms-author-via",
  "pragma",
  "preference-applied",
  "ratelimit",
  "ratelimit-limit",
  "ratelimit-policy",
  "ratelimit-remaining",
  "ratelimit-reset",
  "repr-digest",
  "request-id",
  "retry-after",
  "server-timing",
  "signature",
  "signature-input",
  "sourcemap",
  "sunset",
  "trace-id",
  "traceparent",
  "tracestate",
  "tus-extension",
  "tus-max-size",
  "tus-resumable",
  "tus-version",
  "upload-length",
  "upload-metadata",
  "upload-offset",
  "vary",
  "want-content-digest",
  "want-repr-digest",
  "warning",
]);

/** Fields of a WebSocket handshake (RFC 6455, section 4.2.2), for responses to one. */
const HANDSHAKE = /^sec-websocket-(accept|extensions|protocol|version)$/;

/**
 * Custom fields: the names of an application or a vendor. Browsers define no new fields with `x-`, so these carry data
 * for the page, except the names in {@link ACTING}.
 */
const CUSTOM = /^x-[a-z\d]/;

/**
 * Custom fields on which a browser or a front server acts. Front servers (nginx, Apache, lighttpd, LiteSpeed, H2O,
 * Varnish, Fastly, Cloudflare, App Engine) serve a file, fetch another URL, cache or route because of them.
 */
const ACTING = new RegExp(
  `^x-(${
    [
      "accel-.*",
      "appengine-.*",
      "cache-.*",
      "cdn-.*",
      "cf-.*",
      "compress.*",
      "content-security-policy.*",
      "content-type-options",
      "cors-redirect-.*",
      "dns-prefetch-control",
      "download-options",
      "esi.*",
      "fastly-.*",
      "final-url",
      "forwarded.*",
      "frame-options",
      "http2-.*",
      "lighttpd-.*",
      "litespeed-.*",
      "lscache.*",
      "original-.*",
      "permitted-cross-domain-policies",
      "real-ip",
      "reproxy-.*",
      "request-url",
      "rewrite-.*",
      "robots-tag",
      "send-?file.*",
      "surrogate-.*",
      "traefik-.*",
      "ua-compatible",
      "varnish.*",
      "webkit-csp.*",
      "xss-protection",
    ].join("|")
  })$`,
);

/**
 * Whether a response of this server may carry a field from an upstream or a view's owner.
 * The list names every field that may pass. All others, also those that browsers will invent later, could act on this
 * server's origin (`WWW-Authenticate`, `Set-Login`, `Speculation-Rules`) or on a front server (`X-Accel-Redirect`).
 * @param name in lower case
 */
export function isForeignFieldAllowed(name: string): boolean {
  return DESCRIBING.has(name) || (CUSTOM.test(name) && !ACTING.test(name)) || HANDSHAKE.test(name);
}
