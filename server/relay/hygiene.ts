/**
 * Header fields that belong to one connection and never travel on (RFC 9110, section 7.6.1). `connection` itself names
 * more of them.
 */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/**
 * Fields of a request that only we may set, and others that frameworks take for a proxy's word: what a visitor claims
 * in them has no effect.
 */
const OURS = [
  "expect",
  "forwarded",
  "host",
  "x-forwarded-by",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-forwarded-protocol",
  "x-forwarded-scheme",
  "x-forwarded-server",
  "x-forwarded-ssl",
  "x-real-ip",
];

/** A power of two. */
const SLOTS = 1024;
const belongsToConnectionOrUs = createNameTest([...HOP_BY_HOP, ...OURS.flatMap(listSpellings)]);

/** CGI and WSGI know no difference between "-" and "_": to them `X_Forwarded_For` is the real one. */
function listSpellings(name: string): string[] {
  const [first, ...rest] = name.split("-");
  return rest.reduce((heads, part) => heads.flatMap((head) => [`${head}-${part}`, `${head}_${part}`]), [first]);
}

/** Whether a visitor's field stays behind; fields of our own protocol mean nothing from outside. Names in lower case. */
export function isDroppedFromRequest(name: string): boolean {
  return belongsToConnectionOrUs(name) || name.startsWith("portway-");
}

/** Whether a local service's field stays behind. `name` is in lower case. */
export const isDroppedFromResponse: NameTest = createNameTest([...HOP_BY_HOP, "portway-error"]);

type NameTest = (name: string) => boolean;

/**
 * A test for membership by first letter and length: names arrive as fresh strings, and looking one up in a `Set` would
 * hash every one of them. Hardly a name that browsers send shares both with one of ours.
 */
function createNameTest(names: readonly string[]): NameTest {
  const slots: string[][] = Array.from({ length: SLOTS }, () => []);
  for (const name of names) slots[slotOf(name)].push(name);
  return (name) => slots[slotOf(name)].includes(name);
}

function slotOf(name: string): number {
  return (name.charCodeAt(0) * 32 + name.length) & (SLOTS - 1);
}

/** The names that a Connection field lists, in lower case, or null when there are none but the usual ones. */
export function namedByConnection(value: string | null): ReadonlySet<string> | null {
  if (value === null || /^(?:keep-alive|close|upgrade|keep-alive, *upgrade)$/i.test(value)) return null;
  return new Set(value.toLowerCase().split(",").map((name) => name.trim()).filter((name) => name !== "close"));
}
