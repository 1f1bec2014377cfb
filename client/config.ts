import { homedir } from "node:os";
import { join } from "node:path";
import { CONNECTION_FIELDS } from "../net/http1/mod.ts";
import {
  boolean,
  integer,
  optionalOrigin,
  optionalText,
  type OptionTable,
  type OptionValues,
  text,
} from "../common/options.ts";

/** Every option of the client. Flags, environment, help and docs/reference/configuration.md come from this table alone. */
export const clientOptions = {
  expose: {
    heading: "Tunnels",
    flag: "--expose",
    short: "-e",
    metavar: "PORT",
    parse: targets,
    fallback: "",
    isRepeatable: true,
    help: "expose this local port under a public URL; accepts an http:// or https:// URL, whose path " +
      "becomes part of the public URL; repeatable with -t",
  },
  tunnel: {
    flag: "--tunnel",
    short: "-t",
    metavar: "TUNNEL",
    parse: optionalText,
    fallback: "",
    help: "open a persistent tunnel by its name or the name's beginning, for its default port, the ports of -e, or " +
      "-f, -fw or -w; needs a login",
  },
  resume: {
    flag: "--resume",
    parse: boolean,
    fallback: "false",
    help: "reopen the last unexpired tunnel with its URL and remaining time",
  },
  showQr: {
    flag: "--show-qr",
    parse: boolean,
    fallback: "false",
    help: "show the public URL as a QR code",
  },
  hostHeader: {
    flag: "--host-header",
    metavar: "HOST",
    parse: optionalHost,
    fallback: "",
    help:
      "set the Host that the local service receives; by default its own address, and Origin, redirects and cookies " +
      'are adapted to it; "public" keeps the visitor\'s Host and all addresses',
  },
  localhostRewrite: {
    flag: "--localhost-rewrite",
    parse: boolean,
    fallback: "false",
    help: "make links to the local host public in the service's responses",
  },
  files: {
    heading: "Sharing",
    flag: "--files",
    short: "-f",
    metavar: "PATH",
    parse: optionalText,
    fallback: "",
    help: "share a folder or file that visitors can browse, search and download",
  },
  filesWrite: {
    flag: "--files-write",
    short: "-fw",
    metavar: "PATH",
    parse: optionalText,
    fallback: "",
    help: "share a folder that visitors can also upload to, rename and delete in",
  },
  web: {
    flag: "--web",
    short: "-w",
    metavar: "PATH",
    parse: optionalText,
    fallback: "",
    help: "serve a folder as a website",
  },
  passphrase: {
    flag: "--passphrase",
    short: "-p",
    env: "PORTWAY_PASSPHRASE",
    metavar: "PASSPHRASE",
    parse: optionalText,
    bare: "-",
    fallback: "",
    secret: true,
    refuseEmpty: true,
    help: "protect -f, -fw or -w with a passphrase; without a value the client asks for it",
  },
  drop: {
    flag: "--drop",
    parse: boolean,
    fallback: "false",
    help: "with -fw: visitors can add files and see none",
  },
  maxUpload: {
    flag: "--max-upload",
    metavar: "SIZE",
    parse: optionalSize,
    fallback: "",
    help: "limit uploaded files to this size, such as 500MB or 2GiB; no limit by default",
  },
  hidden: {
    flag: "--hidden",
    parse: boolean,
    fallback: "false",
    help: "share files whose names begin with a dot",
  },
  spa: {
    flag: "--spa",
    metavar: "FILE",
    parse: optionalText,
    bare: "index.html",
    fallback: "",
    help: "with -w: serve this file for the routes of a single-page application; index.html without a value",
  },
  live: {
    flag: "--live",
    parse: boolean,
    fallback: "false",
    help: "with -w: open pages reload when files change",
  },
  cors: {
    flag: "--cors",
    parse: boolean,
    fallback: "false",
    help: "with -f, -fw or -w: let pages of other sites read the files, and with -fw change them",
  },
  header: {
    flag: "--header",
    metavar: "NAME:VALUE",
    parse: headerLines,
    fallback: "",
    isRepeatable: true,
    help: "with -f, -fw or -w: add a header field to every response; repeatable",
  },
  local: {
    flag: "--local",
    metavar: "PORT",
    parse: optionalPort,
    bare: "0",
    fallback: "",
    help: "serve -f, -fw or -w on the local network only, on this port or a free one",
  },
  localHost: {
    flag: "--local-host",
    metavar: "ADDRESS",
    parse: text,
    fallback: "0.0.0.0",
    help: "with --local: listen on this address; 127.0.0.1 excludes other machines",
  },
  login: {
    heading: "Login",
    flag: "--login",
    parse: boolean,
    fallback: "false",
    help: "log in to the server through the browser, or with a code without one",
  },
  token: {
    flag: "--token",
    parse: boolean,
    fallback: "false",
    help: "with --login: log in with a token from the server's site, typed or piped in; " +
      "PORTWAY_TOKEN replaces a login",
  },
  noBrowser: {
    flag: "--no-browser",
    parse: boolean,
    fallback: "false",
    help: "with --login: show a code to enter in any browser instead of opening one",
  },
  loginPort: {
    flag: "--login-port",
    metavar: "PORT",
    parse: integer(1, 65_535),
    fallback: "7332",
    help: "with --login: receive the browser's return on this local port",
  },
  logout: {
    flag: "--logout",
    parse: boolean,
    fallback: "false",
    help: "end the login here and at the server",
  },
  whoami: {
    flag: "--whoami",
    parse: boolean,
    fallback: "false",
    help: "show the logged-in user and account",
  },
  switchAccount: {
    flag: "--switch-account",
    metavar: "ACCOUNT",
    parse: optionalText,
    bare: "-",
    fallback: "",
    help: "switch to another account by its name or number; asks without a value",
  },
  tunnelsList: {
    flag: "--tunnels-list",
    parse: boolean,
    fallback: "false",
    help: "list your persistent tunnels; type a number for details",
  },
  viewsAdd: {
    heading: "Request views",
    flag: "--views-add",
    metavar: "NAME",
    parse: optionalText,
    bare: "-",
    fallback: "",
    help: "create a request view: an address that captures all requests; needs a login",
  },
  viewsList: {
    flag: "--views-list",
    parse: boolean,
    fallback: "false",
    help: "list your request views; type a number for details",
  },
  viewsOpen: {
    flag: "--views-open",
    metavar: "VIEW",
    parse: optionalText,
    fallback: "",
    help: "open a view in the browser, by its id, the id's beginning, or its name",
  },
  viewsTail: {
    flag: "--views-tail",
    metavar: "VIEW",
    parse: optionalText,
    fallback: "",
    help: "show calls as they are captured, until Ctrl+C",
  },
  viewsReplay: {
    flag: "--views-replay",
    metavar: "VIEW CAPTURE",
    isPair: true,
    parse: optionalPair,
    fallback: "",
    help: "send a captured call to --forward again, by its id",
  },
  since: {
    flag: "--since",
    metavar: "TIME",
    parse: optionalSince,
    fallback: "",
    help: "with --views-tail: begin with calls from the last 30s, 15m, 1h or 2d, or after a call's id",
  },
  forward: {
    flag: "--forward",
    metavar: "PORT",
    parse: optionalService,
    fallback: "",
    help:
      "with --views-tail or --views-replay: deliver captured calls, byte for byte, to this local port or URL, and " +
      "show its response",
  },
  forwardConcurrency: {
    flag: "--forward-concurrency",
    metavar: "COUNT",
    parse: integer(1, 64),
    fallback: "1",
    help: "deliver up to this many calls simultaneously; with 1 in their captured order",
  },
  forwardTimeout: {
    flag: "--forward-timeout",
    metavar: "SECONDS",
    parse: integer(1, 3600),
    fallback: "60",
    help: "stop waiting for the service's response after this time",
  },
  verify: {
    flag: "--verify",
    metavar: "SENDER",
    parse: optionalText,
    fallback: "",
    help: "with --views-tail: check signatures of github, stripe, slack, standard-webhooks, svix, shopify or twilio, " +
      "or of hmac:HEADER:HASH:ENCODING, such as hmac:x-signature:sha256:hex",
  },
  verifySecret: {
    flag: "--verify-secret",
    env: "PORTWAY_VERIFY_SECRET",
    metavar: "SECRET",
    parse: optionalText,
    fallback: "",
    help: "set the secret for --verify; prefer the variable, because other local users can see flags",
  },
  server: {
    heading: "Server",
    flag: "--server",
    env: "PORTWAY_SERVER",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "use this Portway server; without one the client starts its own for this machine only",
  },
  caCerts: {
    flag: "--ca-certs",
    env: "PORTWAY_CA_CERTS",
    metavar: "FILE",
    parse: optionalText,
    fallback: "",
    help: "trust the certificate authorities in this PEM file too",
  },
  configDir: {
    flag: "--config-dir",
    env: "PORTWAY_CONFIG_DIR",
    metavar: "FOLDER",
    parse: optionalText,
    fallback: "",
    help: "keep logins and tunnels in this folder; by default in the platform's configuration folder",
  },
  json: {
    heading: "Output",
    flag: "--json",
    parse: boolean,
    fallback: "false",
    help: "print events on standard output, one JSON object per line",
  },
  noColor: {
    flag: "--no-color",
    env: "NO_COLOR",
    // Any value counts (no-color.org).
    parse: (value: string) => value !== "",
    fallback: "",
    help: "print without colors",
  },
  verbose: {
    flag: "--verbose",
    parse: boolean,
    fallback: "false",
    help: "log details on standard error",
  },
  licenses: {
    flag: "--licenses",
    parse: boolean,
    fallback: "false",
    help: "print the licences for Portway and for all software inside a build",
  },
} satisfies OptionTable;

/** Parses two values, one per line; null when empty. */
function optionalPair(text: string): [string, string] | null {
  if (text === "") return null;
  const [first, second = ""] = text.split("\n");
  return [first, second];
}

/** The client's parsed options. Options that the command does not use have their defaults. */
export type ClientConfig = OptionValues<typeof clientOptions>;

/** Parses ports or URLs for local services, one per line. */
function targets(text: string): readonly URL[] {
  return text.split("\n").filter((line) => line !== "").map(parseTarget);
}

/** Parses the `--forward` service: a port, a host and port, or a URL with its query; null when empty. */
function optionalService(text: string): URL | null {
  if (text === "") return null;
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text),
    isHost = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?(?:[/?]|$)/i.test(text);
  if (hasScheme || /^\d+$/.test(text) || !isHost || !URL.canParse(`http://${text}`)) {
    const url = URL.parse(text), search = url?.search ?? "";
    if (url !== null) url.search = "";
    const target = parseTarget(hasScheme && url !== null ? url.href : text);
    target.search = search;
    return target;
  }
  const url = new URL(`http://${text}`);
  if (url.hash || url.username) throw new SyntaxError("only scheme, host, port, path and query are allowed");
  return url;
}

/** The start for `--since`. */
export type Since = { readonly agoMs: number } | { readonly capture: number };

const SINCE_UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a time span or a capture's id; null when empty. */
function optionalSince(text: string): Since | null {
  if (text === "") return null;
  const [, count, unit] = /^(\d{1,9})([smhd]?)$/i.exec(text.trim()) ?? [];
  if (count === undefined) throw new SyntaxError("a time such as 30s, 15m, 1h or 2d, or a call's id, is expected");
  return unit === "" ? { capture: Number(count) } : { agoMs: Number(count) * SINCE_UNITS[unit.toLowerCase()] };
}

function parseTarget(text: string): URL {
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= 65535) {
    return new URL(`http://localhost:${Number(text)}`);
  }
  const url = /^https?:\/\//.test(text) && URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw new RangeError("a port from 1 to 65535 or an http:// or https:// URL is expected");
  if (url.search || url.hash || url.username) throw new SyntaxError("only scheme, host, port and path are allowed");
  return url;
}

/** Parses a value for the Host header; null when empty. */
function optionalHost(text: string): string | null {
  if (text === "") return null;
  if (!/^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(text)) {
    throw new SyntaxError('a host name with or without a port, or "public", is expected');
  }
  return text;
}

/** Fields for connections and body lengths, which would break if set by hand. */
const FRAMING = [...CONNECTION_FIELDS, "content-length"];

/** Parses lines with a name and a value, such as `Cache-Control: no-store`. */
function headerLines(text: string): readonly (readonly [name: string, value: string])[] {
  return text.split("\n").filter((line) => line !== "").map((line) => {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined) throw new SyntaxError("a header such as X-Robots-Tag:none is wanted");
    if (FRAMING.includes(name.toLowerCase())) throw new RangeError(`"${name}" is the server's own to set`);
    return [name, value.trim()] as const;
  });
}

/** Parses a port, 0 for a free one; null when empty. */
function optionalPort(text: string): number | null {
  return text === "" ? null : integer(0, 65_535)(text);
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  kib: 2 ** 10,
  m: 1e6,
  mb: 1e6,
  mib: 2 ** 20,
  g: 1e9,
  gb: 1e9,
  gib: 2 ** 30,
  t: 1e12,
  tb: 1e12,
  tib: 2 ** 40,
};

/** Parses a byte count such as `500MB` or `2GiB`; null when empty. */
function optionalSize(text: string): number | null {
  if (text === "") return null;
  const [, number, unit] = /^(\d{1,12}(?:\.\d{1,3})?) ?([a-z]*)$/i.exec(text) ?? [];
  const factor = SIZE_UNITS[unit?.toLowerCase()];
  if (factor === undefined) throw new RangeError("a size such as 500MB or 2GiB is wanted");
  return Math.floor(Number(number) * factor);
}

/** Returns the platform's folder for the client's files. */
export function defaultConfigDir(env: Readonly<Record<string, string | undefined>>, platform: string): string {
  if (platform === "win32") return join(env.APPDATA || join(homedir(), "AppData", "Roaming"), "portway");
  if (platform === "darwin") return join(homedir(), "Library", "Application Support", "portway");
  return join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "portway");
}
