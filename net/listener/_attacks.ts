/**
 * Requests that two parsers could read differently, each with the strict reading. For tests with listeners alone and
 * with whole tunnels.
 */

/** One such request, or several on one connection. */
export interface Attack {
  what: string;
  /** HOST and OTHER are replaced by the hosts of two tunnels. */
  bytes: string;
  /** Correct statuses for the first response; 0 for a connection that ends without one. */
  statuses: readonly number[];
  /** Start lines of the requests that reach the service, in order; none if left out. */
  reaches?: readonly string[];
  /**
   * Other outcomes with `--listener deno`, which uses Deno's parser. It cannot end a connection after a refusal, so
   * later bytes are read as Deno reads them.
   */
  deno?: { why: string; statuses?: readonly number[]; reaches?: readonly string[] };
}

const OUTER = "POST /outer HTTP/1.1";
const GOT = "GET /outer HTTP/1.1";
const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: HOST\r\n\r\n";
const SMUGGLED_LINE = "GET /smuggled HTTP/1.1";
const REFUSED = [400];
const DENO_MAY_TAKE = { why: "Deno's parser is lenient here, and reads one thing", statuses: [200] };

const post = (fields: string, body: string) => `${OUTER}\r\nHost: HOST\r\n${fields}\r\n${body}`;
const get = (fields: string, rest = "") => `${GOT}\r\nHost: HOST\r\n${fields}\r\n${rest}`;
const chunked = (body: string) => post("Transfer-Encoding: chunked\r\n", body);
const WEBSOCKET = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

const lengths: readonly Attack[] = [
  {
    what: "Content-Length and Transfer-Encoding",
    bytes: post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
  },
  {
    what: "Transfer-Encoding and Content-Length",
    bytes: post("Transfer-Encoding: chunked\r\nContent-Length: 100\r\n", `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
  },
  {
    what: "a length of 0 beside a transfer coding",
    bytes: post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", `5\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
  },
  {
    what: "two equal lengths",
    bytes: post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
    statuses: REFUSED,
    deno: { why: "they say one thing, and Deno takes them for one", statuses: [200], reaches: [OUTER] },
  },
  {
    what: "two different lengths",
    bytes: post("Content-Length: 0\r\nContent-Length: 44\r\n", SMUGGLED),
    statuses: REFUSED,
  },
  {
    what: "two different lengths, one of them in capitals",
    bytes: post("content-length: 0\r\nCONTENT-LENGTH: 44\r\n", SMUGGLED),
    statuses: REFUSED,
  },
  { what: "a list of lengths", bytes: post("Content-Length: 5, 44\r\n", `hello${SMUGGLED}`), statuses: REFUSED },
  { what: "a list of equal lengths", bytes: post("Content-Length: 5, 5\r\n", `hello${SMUGGLED}`), statuses: REFUSED },
  ...["+5", "-1", "5 5", "0x5", "5;", "1e1", "", "99999999999999999999999999", "5.0", "5_0", '"5"', "5,", ",5", "\xb2"]
    .map(
      (length) => ({
        what: `the length ${JSON.stringify(length)}`,
        bytes: post(`Content-Length: ${length}\r\n`, `hello${SMUGGLED}`),
        statuses: REFUSED,
      }),
    ),
  {
    what: 'the length "5" after a vertical tab',
    bytes: post("Content-Length: \x0b5\r\n", `hello${SMUGGLED}`),
    statuses: REFUSED,
  },
  {
    what: "a length with GET that hides a request",
    bytes: get(`Content-Length: ${SMUGGLED.length - 4}\r\n`, SMUGGLED.slice(0, -4)),
    // A longer text replaces HOST, so the body ends within it, and the rest is no request.
    statuses: [200],
    reaches: [GOT],
    deno: { why: "it carries no body with GET", statuses: [400] },
  },
  {
    what: "a body that is shorter than its length",
    bytes: post("Content-Length: 1000\r\n", SMUGGLED),
    statuses: [0, 502],
    reaches: [],
  },
];

const codings: readonly Attack[] = [
  ...[
    "xchunked",
    "chunked, identity",
    "identity",
    "chunked, chunked",
    "chunked\x0b",
    "\x0bchunked",
    '"chunked"',
    "chunked;q=1",
    "",
    "chunk",
    "chunkedd",
    "chunked chunked",
    "identity, chunked",
    "gzip",
    "gzip, chunked",
    "chunked,",
    ",chunked",
    "chunked\xa0",
    "\xefchunked",
  ].map((coding) => ({
    what: `the transfer coding ${JSON.stringify(coding)}`,
    bytes: post(`Transfer-Encoding: ${coding}\r\n`, `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
    deno: {
      why: "it takes off the last of several, and passes over empty elements",
      statuses: [501, 200],
      reaches: [SMUGGLED_LINE],
    },
  })),
  {
    what: "two transfer codings in two lines",
    bytes: post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
  },
  {
    what: "chunked in two lines",
    bytes: post("Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n", `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
  },
  {
    what: "an empty transfer coding before chunked",
    bytes: post("Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
    deno: { why: "Deno passes over it, and what follows the body is a request", statuses: [200] },
  },
  ...["CHUNKED", "Chunked", "\tchunked \t"].map((coding) => ({
    what: `the transfer coding ${JSON.stringify(coding)}`,
    bytes: post(`Transfer-Encoding: ${coding}\r\n`, "5\r\nhello\r\n0\r\n\r\n"),
    statuses: [200],
    reaches: [OUTER],
  })),
  ...[
    "Transfer-Encoding : chunked",
    " Transfer-Encoding: chunked",
    "\tTransfer-Encoding: chunked",
    "Transfer\x00-Encoding: chunked",
    "Transfer-Encoding\t: chunked",
    "Transfer-Encoding\x0b: chunked",
    "Transfer-Encoding\xa0: chunked",
    "Transfer Encoding: chunked",
    "\x00Transfer-Encoding: chunked",
    "\xffTransfer-Encoding: chunked",
    ":Transfer-Encoding: chunked",
    "X: y\nTransfer-Encoding: chunked",
    "X: y\rTransfer-Encoding: chunked",
    "X: y\r\rTransfer-Encoding: chunked",
    "Transfer-Encoding\r\n: chunked",
    "Transfer-Encoding:\r\n chunked",
    "Transfer-Encoding: chun\r\n ked",
    "X:\r\n Transfer-Encoding: chunked",
  ].map((line) => ({
    what: `the line ${JSON.stringify(line)} beside a length`,
    bytes: post(`${line}\r\nContent-Length: 44\r\n`, `0\r\n\r\n${SMUGGLED}`.slice(0, 44)),
    statuses: REFUSED,
  })),
  ...["Transfer_Encoding", "transfer_encoding", "Content_Length", "CONTENT_LENGTH"].map((name) => ({
    what: `${name}, which CGI programs take for the field with a dash`,
    bytes: post(`${name}: ${/t/i.test(name[0]) ? "chunked" : "4"}\r\nContent-Length: 44\r\n`, "x".repeat(44)),
    statuses: [200],
    reaches: [OUTER],
  })),
];

/**
 * Invalid bodies after a valid head, which may be forwarded already: the service never receives a complete request.
 */
const chunks: readonly Attack[] = [
  ...[
    ["z", "hello"],
    ["-5", "hello"],
    ["+5", "hello"],
    ["0x5", "hello"],
    ["5_", "hello"],
    ["ffffffffffffffff", "hello"],
    ["ffffffffffffffffff", "hello"],
    ["100000000000000005", "hello"],
    [" 5", "hello"],
    ["\t5", "hello"],
    ["", "hello"],
    ["5\x00", "hello"],
    ["5\x0b", "hello"],
    ["5,", "hello"],
    ["5\n", "hello"],
    ["5\r", "hello"],
    ["5;a\nb", "hello"],
    ["5;a\rb", "hello"],
    ["5;\x00", "hello"],
    ["5", "hell"],
    ["5", "hello!"],
    ["5", "hello\n"],
    ["5", "hello\r"],
    ["0", "X\x00: y"],
    ["0", "X y: z"],
    ["0", "X: y\r\n z"],
    ["0", "X: y\nZ: a"],
    ["0", " X: y"],
    [`5;${"x".repeat(5000)}`, "hello"],
    [`${"0".repeat(5000)}5`, "hello"],
    ["0", `X: ${"y".repeat(20_000)}`],
  ].map(([size, data]) => ({
    what: `a chunk of size ${JSON.stringify(size.slice(0, 30))} with ${JSON.stringify(data.slice(0, 30))}`,
    bytes: chunked(`${size}\r\n${data}\r\n0\r\n\r\n${SMUGGLED}`),
    statuses: [0, 502],
    deno: {
      why: "Deno takes white space and long lines, and drops trailers unread",
      statuses: [200, 400],
      reaches: [OUTER],
    },
  })),
  {
    what: "a space behind the chunk size",
    bytes: chunked("5 \r\nhello\r\n0\r\n\r\n"),
    statuses: [0, 502],
    deno: { why: "Deno takes white space there", statuses: [200], reaches: [OUTER] },
  },
  {
    what: "chunks that end with LF",
    bytes: chunked("5\nhello\n0\n\n"),
    statuses: [0, 502],
  },
  {
    what: "a body without its last chunk",
    bytes: chunked("5\r\nhello\r\n"),
    statuses: [0, 502],
  },
  {
    what: "a request in an extension of a chunk",
    bytes: chunked(`5;x=${SMUGGLED.slice(0, 20)}\r\nhello\r\n0\r\n\r\n`),
    statuses: [200],
    reaches: [OUTER],
  },
  {
    what: "trailers that name the length, the host and a coding",
    bytes: chunked(`5\r\nhello\r\n0\r\nContent-Length: 44\r\nHost: OTHER\r\nTransfer-Encoding: x\r\n\r\n`),
    statuses: [200],
    reaches: [OUTER],
  },
  {
    what: "a chunked body and a request behind it",
    bytes: chunked(`05\r\nhello\r\n000\r\n\r\n${SMUGGLED}`),
    statuses: [200],
    reaches: [OUTER, SMUGGLED_LINE],
  },
];

const hosts: readonly Attack[] = [
  { what: "two hosts", bytes: `${GOT}\r\nHost: HOST\r\nHost: OTHER\r\n\r\n`, statuses: REFUSED },
  { what: "two equal hosts", bytes: `${GOT}\r\nHost: HOST\r\nhost: HOST\r\n\r\n`, statuses: REFUSED },
  {
    what: "no host",
    bytes: `${GOT}\r\nX-Forwarded-Host: HOST\r\n\r\n`,
    statuses: REFUSED,
    deno: {
      why: "Deno cannot tell it from HTTP/1.0, where that is no fault: a request to nobody's tunnel",
      statuses: [404],
    },
  },
  ...[
    "HOST, OTHER",
    "HOST OTHER",
    "HOST/OTHER",
    "HOST@OTHER",
    "OTHER@HOST",
    "HOST#OTHER",
    "HOST?OTHER",
    "HOST\\OTHER",
    "HOST\x00OTHER",
    "HOST\tOTHER",
    "HOST:",
    "HOST:x",
    "HOST:99999999",
    "[HOST",
    "HOST]",
    "http://HOST",
    '"HOST"',
    "HOST\xff",
    "",
  ].map((value) => ({
    what: `the host ${JSON.stringify(value)}`,
    bytes: `${GOT}\r\nHost: ${value}\r\n\r\n`,
    statuses: REFUSED,
    deno: { why: "an empty one is a request to nobody's tunnel", statuses: [404] },
  })),
  { what: "a folded host", bytes: `${GOT}\r\nHost:\r\n HOST\r\n\r\n`, statuses: REFUSED },
  { what: "a host behind a space", bytes: `${GOT}\r\n Host: OTHER\r\nHost: HOST\r\n\r\n`, statuses: REFUSED },
  { what: "a space behind Host", bytes: `${GOT}\r\nHost : OTHER\r\nHost: HOST\r\n\r\n`, statuses: REFUSED },
  ...["X-Forwarded-Host", "X_Forwarded_Host", "X-Host", "X-Original-Host", "Forwarded", "X-Original-URL"].map((
    name,
  ) => ({
    what: `${name} of another tunnel`,
    bytes: get(`${name}: ${name === "Forwarded" ? "host=OTHER" : name.endsWith("URL") ? "/other" : "OTHER"}\r\n`),
    statuses: [200],
    reaches: [GOT],
  })),
];

const DENO_ABSOLUTE = {
  why: "it cannot tell an absolute target from a path that names its host",
  statuses: [200, 400],
};

const targets: readonly Attack[] = [
  {
    what: "an absolute target of another host",
    bytes: "GET http://HOST/outer HTTP/1.1\r\nHost: OTHER\r\n\r\n",
    // The target's host is the host (RFC 9112, section 3.2.2).
    statuses: [200],
    reaches: [GOT],
    deno: { why: "Deno shows both and does not say which came in the target", statuses: [400] },
  },
  {
    what: "an absolute target of its own host",
    bytes: "GET http://HOST/outer HTTP/1.1\r\nHost: HOST\r\n\r\n",
    statuses: [200],
    reaches: [GOT],
    deno: DENO_ABSOLUTE,
  },
  {
    what: "an absolute target of nobody's host",
    bytes: "GET http://nobody.test/outer HTTP/1.1\r\nHost: HOST\r\n\r\n",
    statuses: [404],
    deno: { why: "as with another host", statuses: [400] },
  },
  {
    what: "an absolute target in HTTP/1.0 without Host",
    bytes: "GET http://HOST/outer HTTP/1.0\r\n\r\n",
    statuses: [200],
    reaches: [GOT],
    deno: { why: "Deno knows no host then", statuses: [400, 404] },
  },
  ...[
    "http://OTHER@HOST/outer",
    "http://HOST@OTHER/outer",
    "http://HOST\\@OTHER/outer",
    "http://HOST:x/outer",
    "http:///outer",
    "http:/outer",
    "http:outer",
    "http://",
    "ftp://HOST/outer",
    "file:///etc/passwd",

    "HOST",
    "HOST:80",
    "outer",
    "?outer",
    "*",
    "..",
    "\\outer",
  ].map((target) => ({
    what: `the target ${target}`,
    bytes: `GET ${target} HTTP/1.1\r\nHost: HOST\r\n\r\n`,
    statuses: REFUSED,
    deno: {
      why: "Deno takes what is no path behind the Host field for one, and other schemes for http",
      statuses: [200, 404],
      reaches: ["GET /* HTTP/1.1", GOT, "GET /http:///outer HTTP/1.1", "GET /file:///etc/passwd HTTP/1.1"],
    },
  })),
  {
    what: "a target that looks like another host",
    bytes: "GET //OTHER/outer HTTP/1.1\r\nHost: HOST\r\n\r\n",
    statuses: [200],
    reaches: ["GET //OTHER/outer HTTP/1.1"],
  },
  ...["CONNECT OTHER", "CONNECT OTHER:443", "CONNECT http://HOST/", "CONNECT *"].map((line) => ({
    what: line,
    bytes: `${line} HTTP/1.1\r\nHost: HOST\r\n\r\n${SMUGGLED}`,
    statuses: REFUSED,
    deno: { why: "it refuses them, and goes on", statuses: [404, 405], reaches: [SMUGGLED_LINE] },
  })),
  {
    what: "a target of nothing but a star",
    bytes: "OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n",
    statuses: [200],
    reaches: ["OPTIONS * HTTP/1.1"],
    deno: { why: "Deno shows it as the path /*, and nothing else tells them apart", reaches: ["OPTIONS /* HTTP/1.1"] },
  },
];

const lines: readonly Attack[] = [
  ...[
    "GET  /outer HTTP/1.1",
    "GET\t/outer HTTP/1.1",
    "GET /outer  HTTP/1.1",
    "GET /outer\tHTTP/1.1",
    "GET /outer HTTP/1.1 ",
    " GET /outer HTTP/1.1",
    "\tGET /outer HTTP/1.1",
    "GET /outer http/1.1",
    "GET /outer HTTP/1.1\r",
    "GET /ou ter HTTP/1.1",
    "GET /ou\x00ter HTTP/1.1",
    "GET /ou\x7fter HTTP/1.1",
    "GET /ou\rter HTTP/1.1",
    "GET /outer\r\nX: HTTP/1.1",
    "GET /outer HTTP/1.1\nX: y",
    "G\x00ET /outer HTTP/1.1",
    "GE(T /outer HTTP/1.1",
    "G\xc9T /outer HTTP/1.1",
    ": /outer HTTP/1.1",
    "GET /outer",
    "GET",
    "/outer HTTP/1.1",
  ].map((line) => ({
    what: `the line ${JSON.stringify(line)}`,
    bytes: `${line}\r\nHost: HOST\r\n\r\n`,
    statuses: REFUSED,
    deno: { ...DENO_MAY_TAKE, reaches: [GOT] },
  })),
  ...["HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "HTTP/3.0", "HTTP/1.9", "HTTP/1,1", "HTTP/11"].map((version) => ({
    what: version,
    bytes: `GET /outer ${version}\r\nHost: HOST\r\n\r\n${SMUGGLED}`,
    statuses: [505],
    deno: { why: "Deno refuses it with 400", statuses: [400] },
  })),
  { what: "HTTP/0.9", bytes: "GET /outer\r\n\r\n", statuses: REFUSED },
  {
    what: "lines that end with LF",
    bytes: "GET /outer HTTP/1.1\nHost: HOST\n\n",
    statuses: REFUSED,
    deno: { ...DENO_MAY_TAKE, reaches: [GOT] },
  },
  { what: "lines that end with CR", bytes: `GET /outer HTTP/1.1\rHost: HOST\r\r${SMUGGLED}`, statuses: REFUSED },
  {
    what: "the preface of HTTP/2",
    bytes: `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${SMUGGLED}`,
    statuses: [505],
    deno: { why: "Deno speaks HTTP/2 there, and ends it", statuses: [400] },
  },
];

const old: readonly Attack[] = [
  {
    what: "a transfer coding in HTTP/1.0",
    bytes: `POST /outer HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    statuses: REFUSED,
    deno: {
      why: "Deno does not tell versions apart and reads the body as chunked",
      statuses: [200],
      reaches: [OUTER, SMUGGLED_LINE],
    },
  },
  {
    what: "HTTP/1.0 with a request behind it",
    bytes: `GET /outer HTTP/1.0\r\nHost: HOST\r\n\r\n${SMUGGLED}`,
    statuses: [200],
    reaches: [GOT],
  },
  {
    what: "HTTP/1.0 that keeps its connection, and a request behind it",
    bytes: `GET /outer HTTP/1.0\r\nHost: HOST\r\nConnection: keep-alive\r\n\r\n${SMUGGLED}`,
    statuses: [200],
    reaches: [GOT, SMUGGLED_LINE],
  },
  {
    what: "HTTP/1.0 with a body without length",
    bytes: `POST /outer HTTP/1.0\r\nHost: HOST\r\n\r\n${SMUGGLED}`,
    statuses: [200],
    reaches: [OUTER],
  },
  { what: "HTTP/1.0 without a host", bytes: `GET /outer HTTP/1.0\r\n\r\n${SMUGGLED}`, statuses: [404] },
  {
    what: "HTTP/1.0 with two hosts",
    bytes: "GET /outer HTTP/1.0\r\nHost: HOST\r\nHost: OTHER\r\n\r\n",
    statuses: REFUSED,
  },
  {
    what: "an upgrade in HTTP/1.0",
    bytes: `GET /outer HTTP/1.0\r\nHost: HOST\r\n${WEBSOCKET}\r\n`,
    statuses: [200],
    reaches: [GOT],
    deno: { why: "Deno does not tell versions apart", statuses: [400, 502] },
  },
];

const pipelines: readonly Attack[] = [
  { what: "two requests in one write", bytes: get("") + SMUGGLED, statuses: [200], reaches: [GOT, SMUGGLED_LINE] },
  {
    what: "a request behind the last of a connection",
    bytes: get("Connection: close\r\n") + SMUGGLED,
    statuses: [200],
    reaches: [GOT],
  },
  {
    what: "a request behind a refused one",
    bytes: `GET /outer HTTP/1.1\r\nHost: HOST\r\nX : y\r\n\r\n${SMUGGLED}`,
    statuses: REFUSED,
  },
  {
    what: "a refused request behind another",
    bytes: `${get("")}GET /x HTTP/1.1\r\nHost: HOST\r\nContent-Length: +1\r\n\r\n${SMUGGLED}`,
    statuses: [200],
    reaches: [GOT],
  },
  {
    what: "a request to another tunnel behind one to this",
    bytes: `${get("")}GET /outer HTTP/1.1\r\nHost: nobody.test\r\n\r\n${SMUGGLED}`,
    statuses: [200],
    reaches: [GOT, SMUGGLED_LINE],
  },
  {
    what: "a request behind a body with its length",
    bytes: post("Content-Length: 5\r\n", `hello${SMUGGLED}`),
    statuses: [200],
    reaches: [OUTER, SMUGGLED_LINE],
  },
  {
    what: "empty lines between two requests",
    bytes: `${get("")}\r\n\r\n${SMUGGLED}`,
    statuses: [200],
    reaches: [GOT, SMUGGLED_LINE],
  },
  {
    what: "a bare LF between two requests",
    bytes: `${get("")}\n${SMUGGLED}`,
    statuses: [200],
    reaches: [GOT],
    deno: { why: "Deno passes over it", reaches: [GOT, SMUGGLED_LINE] },
  },
  {
    what: "a request behind a body that is not asked for",
    bytes: post("Expect: 100-continue\r\nContent-Length: 5\r\n", `hello${SMUGGLED}`),
    statuses: [200],
    reaches: [OUTER, SMUGGLED_LINE],
    deno: { why: "Deno sends 100 by itself", statuses: [100] },
  },
  {
    what: "an expectation that nobody can meet, and a request behind it",
    bytes: post(`Expect: x\r\nContent-Length: 5\r\n`, SMUGGLED),
    statuses: [417],
    deno: { why: "Deno shows Expect to the handler, which has no such check", statuses: [200, 100], reaches: [OUTER] },
  },
];

const upgrades: readonly Attack[] = [
  {
    what: "a WebSocket handshake with a body",
    bytes: get(`${WEBSOCKET}Content-Length: 44\r\n`, SMUGGLED),
    statuses: REFUSED,
    deno: { why: "Deno drops the body of an upgrade", statuses: [200, 502], reaches: [GOT] },
  },
  {
    what: "a WebSocket handshake with a chunked body",
    bytes: get(`${WEBSOCKET}Transfer-Encoding: chunked\r\n`, `0\r\n\r\n${SMUGGLED}`),
    statuses: REFUSED,
    deno: { why: "Deno drops the body of an upgrade", statuses: [200, 502], reaches: [GOT] },
  },
  {
    what: "a WebSocket handshake that the service declines, and a request behind it",
    bytes: get(WEBSOCKET, SMUGGLED),
    statuses: [200],
    // The service responded without an upgrade, so later bytes are a request again.
    reaches: [GOT, SMUGGLED_LINE],
    deno: { why: "Deno hands the connection over or not at all", statuses: [502, 400] },
  },
  {
    what: "another upgrade with a body",
    bytes: post("Connection: Upgrade\r\nUpgrade: chat\r\nContent-Length: 5\r\n", `hello${SMUGGLED}`),
    statuses: [200],
    reaches: [OUTER, SMUGGLED_LINE],
    deno: { why: "Deno refuses it, or takes it for the last of its connection", statuses: [400] },
  },
  {
    what: "another upgrade that the service declines, and a request behind it",
    bytes: get("Connection: Upgrade\r\nUpgrade: chat\r\n", SMUGGLED),
    statuses: [200],
    reaches: [GOT, SMUGGLED_LINE],
    deno: { why: "Deno takes it for the last of its connection" },
  },
  ...["h2c", "H2C", "h2c, websocket", "websocket, h2c"].map((protocol) => ({
    what: `an upgrade to ${protocol}`,
    bytes: get(
      `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n`,
    ),
    statuses: [200],
    reaches: [GOT],
  })),
  {
    what: "two upgrades in two lines",
    bytes: get("Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n"),
    statuses: REFUSED,
    deno: { why: "Deno joins them", statuses: [200], reaches: [GOT] },
  },
];

const fields: readonly Attack[] = [
  ...["a\rb", "a\x00b", "a\nb", "a\n X: y", "a\r\r", "a\x01b", "a\x7fb", "a\x1bb"].map((value) => ({
    what: `the field value ${JSON.stringify(value)}`,
    bytes: get(`X: ${value}\r\n`),
    statuses: REFUSED,
    deno: {
      why: "a bare LF ends a line for it: the second half is a field of its own, or none",
      statuses: [200],
      reaches: [GOT],
    },
  })),
  ...["a b", "a\x00", "(a)", "a\xff", "a\t", "\ta", "", "a\x7f", '"a"', "a@b", "a/b", "[a]", "{a}", "a\\b", "a=b"].map((
    name,
  ) => ({
    what: `the field name ${JSON.stringify(name)}`,
    bytes: get(`${name}: 1\r\n`),
    statuses: REFUSED,
    deno: { why: "Deno's list of characters is another", statuses: [200], reaches: [GOT] },
  })),
  {
    what: "a name with a colon and a space behind it",
    bytes: get("a:b c: 1\r\n"),
    statuses: [200],
    reaches: [GOT],
  },
  { what: "a line without a colon", bytes: get("nonsense\r\n"), statuses: REFUSED },
  { what: "a folded field", bytes: get("X: a\r\n b\r\n"), statuses: REFUSED },
  { what: "a field folded by a tab", bytes: get("X: a\r\n\tb\r\n"), statuses: REFUSED },
  { what: "a folded blank line", bytes: get("X: a\r\n \r\n"), statuses: REFUSED },
  {
    what: "a field before the first line's end",
    bytes: "GET /outer HTTP/1.1\r\n X: a\r\nHost: HOST\r\n\r\n",
    statuses: REFUSED,
  },
  {
    what: "a Connection field that names the host and the length",
    bytes: post("Connection: host, content-length, transfer-encoding\r\nContent-Length: 5\r\n", "hello"),
    statuses: [200],
    reaches: [OUTER],
  },
  {
    what: "a Connection field that names what the relay adds",
    bytes: get("Connection: x-forwarded-for, x-forwarded-host, forwarded\r\nX-Forwarded-For: 10.0.0.1\r\n"),
    statuses: [200],
    reaches: [GOT],
  },
];

/** All requests, each with the strict reading's response. */
export const ATTACKS: readonly Attack[] = [
  ...lengths,
  ...codings,
  ...chunks,
  ...hosts,
  ...targets,
  ...lines,
  ...old,
  ...pipelines,
  ...upgrades,
  ...fields,
];
