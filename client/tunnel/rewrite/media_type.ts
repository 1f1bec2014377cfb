/**
 * Whether responses with a type are text whose links can be rewritten: HTML, CSS, scripts, JSON, XML, event streams,
 * manifests, plain text. Bytes below 0x80 must be ASCII, so UTF-16 and a few others pass unchanged.
 * @param contentType the field's value
 */
export function isRewritable(contentType: string): boolean {
  const [type, ...parameters] = contentType.toLowerCase().split(";").map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice("charset=".length);
  return TEXT.test(type) && (charset === undefined || ASCII_BASED.test(charset.replace(/^"(.*)"$/, "$1")));
}

/** Whether a Content-Type names server-sent events, whose chunks must not wait for the next one. */
export function isEventStream(contentType: string): boolean {
  return /^text\/event-stream\s*(?:;|$)/i.test(contentType);
}

/** `application/vnd.apple.mpegurl` and similar types are playlists, whose entries are links. */
const TEXT = new RegExp(
  "^(?:text/.+|.+\\+(?:json|xml|yaml)|application/(?:(?:x-)?(?:json|javascript|ecmascript|yaml|ndjson|toml|mpegurl)|" +
    "xml|jsonl|json-seq|typescript|graphql|manifest|vnd\\.apple\\.mpegurl|x-www-form-urlencoded)|audio/(?:x-)?mpegurl|" +
    "audio/vnd\\.apple\\.mpegurl)$",
);

const ASCII_BASED = new RegExp(
  "^(?:utf-?8|(?:us-)?ascii|iso[-_]?8859-\\d{1,2}|latin-?\\d|(?:windows|cp)-?125\\d|koi8-[ru]|macintosh|" +
    "gbk|gb2312|gb18030|big5|euc-(?:jp|kr)|shift[-_]jis)$",
);
