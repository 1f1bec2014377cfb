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
    help: "give the service on this local port a public URL; an http:// or https:// URL works too, and a path in it " +
      "is shown as part of the public one; with -t it can be given several times",
  },
  tunnel: {
    flag: "--tunnel",
    short: "-t",
    metavar: "TUNNEL",
    parse: optionalText,
    fallback: "",
    help: "carry a persistent tunnel, by its name or the beginning of it: its default port, the ports of -e, or what " +
      "-f, -fw or -w share; it needs a login",
  },
  resume: {
    flag: "--resume",
    parse: boolean,
    fallback: "false",
    help: "take the last tunnel that has not expired back, with its URL and its remaining time",
  },
  showQr: {
    flag: "--show-qr",
    parse: boolean,
    fallback: "false",
    help: "show the public URL as a QR code too",
  },
  hostHeader: {
    flag: "--host-header",
    metavar: "HOST",
    parse: optionalHost,
    fallback: "",
    help:
      "the Host that the local service sees: its own address when not set, and then Origin, redirects and cookies " +
      'agree with that; "public" keeps the one visitors ask for, and all of those as they are',
  },
  localhostRewrite: {
    flag: "--localhost-rewrite",
    parse: boolean,
    fallback: "false",
    help: "make links to the local host in what the local service answers public ones, as it passes",
  },
  files: {
    heading: "Sharing",
    flag: "--files",
    short: "-f",
    metavar: "PATH",
    parse: optionalText,
    fallback: "",
    help: "share a folder or a file; visitors can look, search and download",
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
    help: "what visitors of -f, -fw and -w are asked for; without a value it is asked for here, and nobody sees it",
  },
  drop: {
    flag: "--drop",
    parse: boolean,
    fallback: "false",
    help: "with -fw: visitors can add files and see nothing",
  },
  maxUpload: {
    flag: "--max-upload",
    metavar: "SIZE",
    parse: optionalSize,
    fallback: "",
    help: "the largest file that visitors can upload, such as 500MB or 2GiB; no limit when not set",
  },
  hidden: {
    flag: "--hidden",
    parse: boolean,
    fallback: "false",
    help: "share files whose names begin with a dot too",
  },
  spa: {
    flag: "--spa",
    metavar: "FILE",
    parse: optionalText,
    bare: "index.html",
    fallback: "",
    help: "with -w: a single-page application, whose routes this file answers; index.html without a value",
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
    help: "with -f, -fw or -w: pages of other sites may read what is shared, and with -fw change it",
  },
  header: {
    flag: "--header",
    metavar: "NAME:VALUE",
    parse: headerLines,
    fallback: "",
    isRepeatable: true,
    help: "with -f, -fw or -w: a header of every answer; can be given several times",
  },
  local: {
    flag: "--local",
    metavar: "PORT",
    parse: optionalPort,
    bare: "0",
    fallback: "",
    help: "serve -f, -fw or -w on the local network, on this port or a free one, without a server in between",
  },
  localHost: {
    flag: "--local-host",
    metavar: "ADDRESS",
    parse: text,
    fallback: "0.0.0.0",
    help: "with --local: the address to listen on; 127.0.0.1 keeps it to this machine",
  },
  login: {
    heading: "Login",
    flag: "--login",
    parse: boolean,
    fallback: "false",
    help: "log in to the server through the browser, or with a code where there is none",
  },
  token: {
    flag: "--token",
    parse: boolean,
    fallback: "false",
    help: "with --login: log in with a token made on the server's site, which is asked for here or piped in; " +
      "without a login, PORTWAY_TOKEN holds one",
  },
  noBrowser: {
    flag: "--no-browser",
    parse: boolean,
    fallback: "false",
    help: "with --login: open no browser here, and show a code to enter in one anywhere",
  },
  loginPort: {
    flag: "--login-port",
    metavar: "PORT",
    parse: integer(1, 65_535),
    fallback: "7332",
    help: "with --login: the port of this machine that the browser comes back to",
  },
  logout: {
    flag: "--logout",
    parse: boolean,
    fallback: "false",
    help: "end the login, here and at the server",
  },
  whoami: {
    flag: "--whoami",
    parse: boolean,
    fallback: "false",
    help: "show who is logged in, and in which account",
  },
  switchAccount: {
    flag: "--switch-account",
    metavar: "ACCOUNT",
    parse: optionalText,
    bare: "-",
    fallback: "",
    help: "use another of your accounts, by its name or number; asks without a value",
  },
  tunnelsList: {
    flag: "--tunnels-list",
    parse: boolean,
    fallback: "false",
    help: "list your persistent tunnels; a number typed then shows all of one",
  },
  viewsAdd: {
    heading: "Request views",
    flag: "--views-add",
    metavar: "NAME",
    parse: optionalText,
    bare: "-",
    fallback: "",
    help: "make a request view: an address that captures whatever is sent to it; it needs a login",
  },
  viewsList: {
    flag: "--views-list",
    parse: boolean,
    fallback: "false",
    help: "list your request views; a number typed then shows all of one",
  },
  viewsOpen: {
    flag: "--views-open",
    metavar: "VIEW",
    parse: optionalText,
    fallback: "",
    help: "show a view in the browser; its id, the beginning of one, or its name says which",
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
    help: "send a captured call, by its id, to --forward once more",
  },
  since: {
    flag: "--since",
    metavar: "TIME",
    parse: optionalSince,
    fallback: "",
    help: "with --views-tail: begin with the calls of the last 30s, 15m, 1h or 2d, or with a call by its id",
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
    help: "deliver up to this many calls at a time; with 1 they arrive in the order of their capture",
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
    help: "the secret for --verify; other users of this machine can see flags, so prefer the variable",
  },
  server: {
    heading: "Server",
    flag: "--server",
    env: "PORTWAY_SERVER",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "the Portway server; without one the client runs its own, which only this machine can reach",
  },
  caCerts: {
    flag: "--ca-certs",
    env: "PORTWAY_CA_CERTS",
    metavar: "FILE",
    parse: optionalText,
    fallback: "",
    help: "PEM file of certificate authorities to trust besides the usual ones",
  },
  configDir: {
    flag: "--config-dir",
    env: "PORTWAY_CONFIG_DIR",
    metavar: "FOLDER",
    parse: optionalText,
    fallback: "",
    help: "where the client keeps logins, and its tunnels for --resume; the platform's usual place when not set",
  },
  json: {
    heading: "Output",
    flag: "--json",
    parse: boolean,
    fallback: "false",
    help: "print events on standard output as one JSON object a line",
  },
  noColor: {
    flag: "--no-color",
    env: "NO_COLOR",
    // Whatever the variable says (no-color.org).
    parse: (value: string) => value !== "",
    fallback: "",
    help: "print without colours",
  },
  verbose: {
    flag: "--verbose",
    parse: boolean,
    fallback: "false",
    help: "say more about what happens, on standard error",
  },
  licenses: {
    flag: "--licenses",
    parse: boolean,
    fallback: "false",
    help: "print the licences for Portway and for all software inside a build",
  },
} satisfies OptionTable;

/** Two values, a line each; null when empty. */
function optionalPair(text: string): [string, string] | null {
  if (text === "") return null;
  const [first, second = ""] = text.split("\n");
  return [first, second];
}

/** The client's options, read and checked. Values that are no option of the command used are the defaults. */
export type ClientConfig = OptionValues<typeof clientOptions>;

/** Ports, or URLs, of local services, a line each. */
function targets(text: string): readonly URL[] {
  return text.split("\n").filter((line) => line !== "").map(parseTarget);
}

/** The service of `--forward`: a port, a host and port, or a URL, whose query is kept; null when empty. */
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
  if (url.hash || url.username) throw new SyntaxError("only scheme, host, port, path and query are wanted");
  return url;
}

/** Where `--since` begins. */
export type Since = { readonly agoMs: number } | { readonly capture: number };

const SINCE_UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time ago, or the id of a capture; null when empty. */
function optionalSince(text: string): Since | null {
  if (text === "") return null;
  const [, count, unit] = /^(\d{1,9})([smhd]?)$/i.exec(text.trim()) ?? [];
  if (count === undefined) throw new SyntaxError("a time such as 30s, 15m, 1h or 2d is wanted, or the id of a call");
  return unit === "" ? { capture: Number(count) } : { agoMs: Number(count) * SINCE_UNITS[unit.toLowerCase()] };
}

function parseTarget(text: string): URL {
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= 65535) {
    return new URL(`http://localhost:${Number(text)}`);
  }
  const url = /^https?:\/\//.test(text) && URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw new RangeError("a port from 1 to 65535 is wanted, or an http:// or https:// URL");
  if (url.search || url.hash || url.username) throw new SyntaxError("only scheme, host, port and path are wanted");
  return url;
}

/** What can stand in a Host header, which it becomes; null when empty. */
function optionalHost(text: string): string | null {
  if (text === "") return null;
  if (!/^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(text)) {
    throw new SyntaxError('a host name is wanted, with a port or without, or "public"');
  }
  return text;
}

/** What belongs to a connection or to the length of an answer, which would break when it is set by hand. */
const FRAMING = [...CONNECTION_FIELDS, "content-length"];

/** Lines of a name and a value, as `Cache-Control: no-store`. */
function headerLines(text: string): readonly (readonly [name: string, value: string])[] {
  return text.split("\n").filter((line) => line !== "").map((line) => {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined) throw new SyntaxError("a header such as X-Robots-Tag:none is wanted");
    if (FRAMING.includes(name.toLowerCase())) throw new RangeError(`"${name}" is the server's own to set`);
    return [name, value.trim()] as const;
  });
}

/** A port, 0 for a free one; null when empty. */
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

/** A number of bytes such as `500MB` or `2GiB`; null when empty. */
function optionalSize(text: string): number | null {
  if (text === "") return null;
  const [, number, unit] = /^(\d{1,12}(?:\.\d{1,3})?) ?([a-z]*)$/i.exec(text) ?? [];
  const factor = SIZE_UNITS[unit?.toLowerCase()];
  if (factor === undefined) throw new RangeError("a size such as 500MB or 2GiB is wanted");
  return Math.floor(Number(number) * factor);
}

/** The folder for what the client keeps, by the platform's custom. */
export function defaultConfigDir(env: Readonly<Record<string, string | undefined>>, platform: string): string {
  if (platform === "win32") return join(env.APPDATA || join(homedir(), "AppData", "Roaming"), "portway");
  if (platform === "darwin") return join(homedir(), "Library", "Application Support", "portway");
  return join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "portway");
}
