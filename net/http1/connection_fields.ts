/**
 * Header fields, in lower case, that belong to one connection and never travel on (RFC 9110, section 7.6.1).
 * `connection` itself names more of them.
 */
export const CONNECTION_FIELDS: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
