import { BlockList, isIP } from "node:net";
import { OptionError } from "../../common/options.ts";
import { isLocalhost } from "./localhost.ts";

/** An HTTP proxy that supports CONNECT. */
export interface ProxyAddress {
  hostname: string;
  port: number;
  /** Value for `proxy-authorization`, from user and password in the proxy's URL. */
  authorization?: string;
}

/** Returns the proxy for a peer, or null for a direct connection. */
export type ProxyRules = (hostname: string, port: number, secure: boolean) => ProxyAddress | null;

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables that curl reads: `https_proxy` for TLS, `http_proxy` for plain connections, `all_proxy`
 * otherwise, and `no_proxy`, each in lower case first, then in capitals. This machine (localhost, 127.0.0.0/8, ::1) is
 * always reached directly.
 * @throws OptionError with the variable's name, never with a password
 */
export function readProxyRules(env: Environment): ProxyRules {
  const forTls = readProxy(env, "https_proxy") ?? readProxy(env, "all_proxy");
  const forPlain = readProxy(env, "http_proxy") ?? readProxy(env, "all_proxy");
  const isExempt = createExemption(lookUp(env, "no_proxy")[0]);

  return (hostname, port, secure) => {
    const proxy = secure ? forTls : forPlain;
    return proxy === null || isThisMachine(hostname) || isExempt(hostname, port) ? null : proxy;
  };
}

function lookUp(env: Environment, name: string): [value: string, name: string] {
  const small = env[name];
  return small ? [small, name] : [env[name.toUpperCase()] ?? "", name.toUpperCase()];
}

function readProxy(env: Environment, variable: string): ProxyAddress | null {
  const [text, name] = lookUp(env, variable);
  if (text === "") return null;
  const full = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : null;
  if (url === null || url.hostname === "") throw new OptionError(`${name}: this is not the URL of a proxy`);
  if (url.protocol !== "http:") {
    throw new OptionError(`${name}: only http:// proxies can be used, not ${url.protocol}//`);
  }
  return { hostname: stripBrackets(url.hostname), port: Number(url.port || 80), ...readAuthorization(url, name) };
}

function readAuthorization(url: URL, name: string): { authorization?: string } {
  if (url.username === "" && url.password === "") return {};
  try {
    const bytes = new TextEncoder().encode(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`);
    return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
  } catch (cause) {
    throw new OptionError(`${name}: the user or password is not percent-encoded as it should be`, { cause });
  }
}

/** Removes the brackets around an IPv6 address. */
export function stripBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function isThisMachine(hostname: string): boolean {
  const name = normalise(hostname);
  return isLocalhost(name) || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

/**
 * Entries are `*`, hosts including their subdomains, addresses, each with an optional port, or address ranges (CIDR).
 * Other entries have no effect, as in curl.
 */
function createExemption(text: string): (hostname: string, port: number) => boolean {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const ranges = createRanges(words.filter((word) => word.includes("/")));
  const entries = words.filter((word) => !word.includes("/")).map(parseExemption);
  return (hostname, port) => {
    const name = normalise(hostname);
    const family = isIP(name);
    if (family !== 0 && ranges.check(name, family === 4 ? "ipv4" : "ipv6")) return true;
    return entries.some((entry) =>
      (entry.port === null || entry.port === port) &&
      (entry.host === "*" || name === entry.host || name.endsWith(`.${entry.host}`))
    );
  };
}

function createRanges(words: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const word of words) {
    const [address, bits] = word.split("/");
    const family = isIP(address);
    const isRange = family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
    if (isRange) ranges.addSubnet(address, Number(bits), family === 4 ? "ipv4" : "ipv6");
  }
  return ranges;
}

function parseExemption(text: string): { host: string; port: number | null } {
  // In a bare IPv6 address no colon starts a port.
  const match = /^(\[.*\]|[^:]*):(\d+)$/.exec(text);
  const host = match === null ? text : match[1];
  return { host: normalise(host).replace(/^\*?\./, ""), port: match === null ? null : Number(match[2]) };
}

function normalise(hostname: string): string {
  return stripBrackets(hostname.toLowerCase()).replace(/\.$/, "");
}
