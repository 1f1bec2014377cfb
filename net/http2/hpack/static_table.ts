import { encodeLatin1 } from "../../http1/mod.ts";

/** Name and value of a field, one byte for each character. */
export interface TableField {
  readonly name: Uint8Array;
  readonly value: Uint8Array;
}

/** The static table (RFC 7541, appendix A). The first index is 1. */
export const STATIC_TABLE: readonly TableField[] = [
  ":authority",
  ":method GET",
  ":method POST",
  ":path /",
  ":path /index.html",
  ":scheme http",
  ":scheme https",
  ":status 200",
  ":status 204",
  ":status 206",
  ":status 304",
  ":status 400",
  ":status 404",
  ":status 500",
  "accept-charset",
  "accept-encoding gzip, deflate",
  "accept-language",
  "accept-ranges",
  "accept",
  "access-control-allow-origin",
  "age",
  "allow",
  "authorization",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-range",
  "content-type",
  "cookie",
  "date",
  "etag",
  "expect",
  "expires",
  "from",
  "host",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-modified",
  "link",
  "location",
  "max-forwards",
  "proxy-authenticate",
  "proxy-authorization",
  "range",
  "referer",
  "refresh",
  "retry-after",
  "server",
  "set-cookie",
  "strict-transport-security",
  "transfer-encoding",
  "user-agent",
  "vary",
  "via",
  "www-authenticate",
].map((line) => {
  const space = line.indexOf(" ");
  const name = space < 0 ? line : line.slice(0, space), value = space < 0 ? "" : line.slice(space + 1);
  return { name: encodeLatin1(name), value: encodeLatin1(value) };
});
