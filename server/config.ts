import {
  boolean,
  choice,
  integer,
  list,
  optionalDatabaseUrl,
  optionalDomain,
  optionalFolder,
  optionalListenAddress,
  optionalOrigin,
  optionalText,
  pageOrigins,
  text,
} from "../common/options.ts";
import { parseEmail } from "../common/email.ts";
import { type OptionTable, type OptionValues, REMOVED } from "../common/options.ts";
import type { LogFormat, LogLevel } from "../common/log.ts";
import { MAX_REQUEST_HEAD } from "../net/http1/mod.ts";
import { DEFAULT_LIMITS, type ListenerKind } from "../net/listener/mod.ts";

const MAX_INT = 2 ** 31 - 1;

const optionalCount = (value: string) => value === "" ? null : integer(0, MAX_INT)(value);

/** One domain for all tunnels, or one for ephemeral and one for persistent tunnels. Empty for none. */
function domains(value: string): readonly string[] {
  const names = list(value).map(optionalDomain).filter((name) => name !== null);
  if (names.length > 2) throw new RangeError("one domain or two are wanted");
  return names;
}

function optionalEmail(value: string): string | null {
  const email = value === "" ? null : parseEmail(value);
  if (value !== "" && email === null) throw new SyntaxError("an email address is wanted");
  return email;
}

function optionalPassword(value: string): string | null {
  if (value === "") return null;
  if (value.length < 8 || value.length > 128) throw new RangeError("8 to 128 characters are wanted");
  return value;
}

function optionalSmtpUrl(value: string): string | null {
  if (value === "") return null;
  const url = URL.parse(value);
  if (url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== "") return value;
  throw new SyntaxError("an smtp:// or smtps:// URL is wanted");
}

function optionalSender(value: string): string | null {
  if (value === "") return null;
  const address = /^[^<>\r\n]*<([^<>]+)>$/.exec(value)?.[1] ?? value;
  if (parseEmail(address) === null) throw new SyntaxError("expected an email address, or Name <address>");
  return value;
}

/** The server's options. Flags, variables, help and docs/reference/configuration.md come from this table. */
export const serverOptions = {
  host: {
    heading: "Addresses",
    flag: "--host",
    env: "PORTWAY_HOST",
    metavar: "ADDRESS",
    parse: text,
    fallback: "127.0.0.1",
    help: "listen on this address; 0.0.0.0 or :: for all",
  },
  port: {
    flag: "--port",
    env: "PORTWAY_PORT",
    metavar: "PORT",
    parse: integer(0, 65535),
    fallback: "8787",
    help: "listen on this port; 0 for any free one",
  },
  url: {
    flag: "--url",
    env: "PORTWAY_URL",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "set the server's public URL; http://localhost:<port> by default",
  },
  apiUrl: {
    flag: "--api-url",
    env: "PORTWAY_API_URL",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "set the public URL for request views; --url by default",
  },
  hqUrl: {
    flag: "--hq-url",
    env: "PORTWAY_HQ_URL",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "set the management site's public URL; --url by default",
  },
  tunnelDomains: {
    flag: "--tunnel-domains",
    env: "PORTWAY_TUNNEL_DOMAINS",
    metavar: "DOMAINS",
    parse: domains,
    fallback: "",
    help:
      "set the tunnel domain, or two for ephemeral and persistent tunnels, separated by a comma; try.<host> and tunnel.<host> from --url by default",
  },
  tlsCert: {
    flag: "--tls-cert",
    env: "PORTWAY_TLS_CERT",
    metavar: "FILE",
    parse: optionalText,
    fallback: "",
    help: "read the certificate chain from this PEM file and serve TLS, with --tls-key; renewed files need no restart",
  },
  tlsKey: {
    flag: "--tls-key",
    env: "PORTWAY_TLS_KEY",
    metavar: "FILE",
    parse: optionalText,
    fallback: "",
    help: "read the private key from this PEM file",
  },
  trustedProxies: {
    flag: "--trusted-proxies",
    env: "PORTWAY_TRUSTED_PROXIES",
    metavar: "ADDRESSES",
    parse: list,
    fallback: "",
    help: "trust X-Forwarded-* fields from these reverse proxies, addresses or ranges separated by commas",
  },
  listener: {
    flag: "--listener",
    env: "PORTWAY_LISTENER",
    metavar: "KIND",
    parse: choice<ListenerKind>("edge", "deno"),
    fallback: "edge",
    help:
      "choose the HTTP engine: edge for the Internet, or deno, the runtime's, without time limits and only behind a proxy",
  },
  metrics: {
    flag: "--metrics",
    env: "PORTWAY_METRICS",
    metavar: "ADDRESS",
    parse: optionalListenAddress,
    fallback: "",
    help:
      "serve Prometheus metrics at http://<ADDRESS>/metrics, for instance 127.0.0.1:9090, or a port alone; the address needs no login, so keep it private",
  },
  dataDir: {
    heading: "Storage",
    flag: "--data-dir",
    env: "PORTWAY_DATA_DIR",
    metavar: "FOLDER",
    parse: text,
    fallback: "portway-data",
    help: "store the database in this folder, which belongs to this server alone",
  },
  databaseUrl: {
    flag: "--database-url",
    env: "PORTWAY_DATABASE_URL",
    metavar: "URL",
    parse: optionalDatabaseUrl,
    fallback: "",
    help:
      "use this PostgreSQL database, for instance postgres://user@host/name; set a password only in the variable, because other users can read flags",
    secret: true,
  },
  logFormat: {
    heading: "Output",
    flag: "--log-format",
    env: "PORTWAY_LOG_FORMAT",
    metavar: "FORMAT",
    parse: choice<LogFormat>("text", "json"),
    fallback: "text",
    help: "choose the log format: text or json",
  },
  logLevel: {
    flag: "--log-level",
    env: "PORTWAY_LOG_LEVEL",
    metavar: "LEVEL",
    parse: choice<LogLevel>("debug", "info", "warn", "error"),
    fallback: "info",
    help: "log this level and above: debug, info, warn or error",
  },
  json: {
    flag: "--json",
    parse: boolean,
    fallback: "false",
    help: "print events as JSON objects, one in each line",
  },
  adminEmail: {
    heading: "Accounts",
    flag: "--admin-email",
    env: "PORTWAY_ADMIN_EMAIL",
    metavar: "ADDRESS",
    parse: optionalEmail,
    fallback: "",
    help: "create the first user, an admin, with this email address; otherwise the log has a set-up link",
  },
  adminPassword: {
    flag: "--admin-password",
    env: "PORTWAY_ADMIN_PASSWORD",
    metavar: "PASSWORD",
    parse: optionalPassword,
    fallback: "",
    help: "set the first user's password; prefer the variable, because other users can read flags",
    secret: true,
  },
  signup: {
    flag: "--signup",
    env: "PORTWAY_SIGNUP",
    metavar: "POLICY",
    parse: choice("open", "invitation", "closed"),
    fallback: "invitation",
    help: "choose the sign-up policy: open, invitation (only invited people) or closed",
  },
  defaultPlan: {
    flag: "--default-plan",
    env: "PORTWAY_DEFAULT_PLAN",
    metavar: "PLAN",
    parse: choice("free", "paid"),
    fallback: "free",
    help: "choose the plan for new accounts: free, or paid with persistent tunnels; the first admin's account is paid",
  },
  smtpUrl: {
    flag: "--smtp-url",
    env: "PORTWAY_SMTP_URL",
    metavar: "URL",
    parse: optionalSmtpUrl,
    fallback: "",
    help:
      "send invitations and password links through this mail server, smtp://user:password@host:587 or smtps://; without it the site shows the links",
    secret: true,
  },
  mailFrom: {
    flag: "--mail-from",
    env: "PORTWAY_MAIL_FROM",
    metavar: "ADDRESS",
    parse: optionalSender,
    fallback: "",
    help: "set the mail sender; Portway <portway@<host>> by default",
  },
  ephemeralSeconds: {
    heading: "Ephemeral tunnels",
    flag: "--ephemeral-seconds",
    env: "PORTWAY_EPHEMERAL_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 60 * 60 * 24 * 365),
    fallback: "3600",
    help: "end an ephemeral tunnel after this time",
  },
  ephemeralBytes: {
    flag: "--ephemeral-bytes",
    env: "PORTWAY_EPHEMERAL_BYTES",
    metavar: "BYTES",
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: "1000000000",
    help: "limit an ephemeral tunnel's traffic, both directions together",
  },
  tunnelsPerMinute: {
    flag: "--tunnels-per-minute",
    env: "PORTWAY_TUNNELS_PER_MINUTE",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "10",
    help: "limit ephemeral tunnels that an address, or a /64 IPv6 network, creates a minute",
  },
  maxTunnels: {
    flag: "--max-tunnels",
    env: "PORTWAY_MAX_TUNNELS",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "10000",
    help: "limit unexpired ephemeral tunnels in total; more get 503",
  },
  monthlyBytes: {
    heading: "Persistent tunnels",
    flag: "--monthly-bytes",
    env: "PORTWAY_MONTHLY_BYTES",
    metavar: "BYTES",
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: "25000000000",
    help: "limit each user's monthly traffic (UTC) through an account's persistent tunnels, both directions together",
  },
  maxTunnelsPerAccount: {
    flag: "--max-tunnels-per-account",
    env: "PORTWAY_MAX_TUNNELS_PER_ACCOUNT",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "100",
    help: "limit an account's persistent tunnels",
  },
  maxStreams: {
    heading: "Sessions",
    flag: "--max-streams",
    env: "PORTWAY_MAX_STREAMS",
    metavar: "COUNT",
    parse: integer(1, 65_536),
    fallback: "4096",
    help: "limit a session's open requests, and its open WebSockets and other upgrades; more get 503",
  },
  maxSessionsPerAddress: {
    flag: "--max-sessions-per-address",
    env: "PORTWAY_MAX_SESSIONS_PER_ADDRESS",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "32",
    help: "limit open sessions from an address, or from a /64 IPv6 network; more get 429",
  },
  holdSeconds: {
    flag: "--hold-seconds",
    env: "PORTWAY_HOLD_SECONDS",
    metavar: "SECONDS",
    parse: integer(0, 60),
    fallback: "5",
    help: "hold visitors this long for a client that disconnected; then they get 503",
  },
  viewBodyBytes: {
    heading: "Request views",
    flag: "--view-body-bytes",
    env: "PORTWAY_VIEW_BODY_BYTES",
    metavar: "BYTES",
    parse: integer(1024, 2 ** 40),
    fallback: "33554432",
    help: "limit a captured call's body; longer ones get 413",
  },
  viewBytes: {
    flag: "--view-bytes",
    env: "PORTWAY_VIEW_BYTES",
    metavar: "BYTES",
    parse: integer(1024, Number.MAX_SAFE_INTEGER),
    fallback: "268435456",
    help: "limit a view's captures in total, counting 16 KiB or more for each; a new capture replaces the oldest ones",
  },
  viewRetentionDays: {
    flag: "--view-retention-days",
    env: "PORTWAY_VIEW_RETENTION_DAYS",
    metavar: "DAYS",
    parse: integer(1, 36500),
    fallback: "30",
    help: "delete captures after this time; the maximum and default for each view",
  },
  viewsPerAccount: {
    flag: "--views-per-account",
    env: "PORTWAY_VIEWS_PER_ACCOUNT",
    metavar: "COUNT",
    parse: integer(0, MAX_INT),
    fallback: "100",
    help: "limit an account's views",
  },
  viewCallsPerMinute: {
    flag: "--view-calls-per-minute",
    env: "PORTWAY_VIEW_CALLS_PER_MINUTE",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "6000",
    help: "limit calls a minute to a view, and to all views from an address or a /64 IPv6 network; more get 429",
  },
  viewReplaysPerMinute: {
    flag: "--view-replays-per-minute",
    env: "PORTWAY_VIEW_REPLAYS_PER_MINUTE",
    metavar: "COUNT",
    parse: integer(0, MAX_INT),
    fallback: "30",
    help: "limit captures that an account sends again a minute; 0 for none",
  },
  viewReplayAllow: {
    flag: "--view-replay-allow",
    env: "PORTWAY_VIEW_REPLAY_ALLOW",
    metavar: "HOSTS",
    parse: list,
    fallback: "",
    help: "allow sending captures to these private hosts: names, addresses and ranges, separated by commas",
  },
  maxHeadBytes: {
    heading: "Connections",
    flag: "--max-head-bytes",
    env: "PORTWAY_MAX_HEAD_BYTES",
    metavar: "BYTES",
    parse: integer(1024, MAX_REQUEST_HEAD),
    fallback: String(DEFAULT_LIMITS.maxHeadBytes),
    help: "limit a request's head; longer ones get 431",
  },
  maxConnections: {
    flag: "--max-connections",
    env: "PORTWAY_MAX_CONNECTIONS",
    metavar: "COUNT",
    parse: optionalCount,
    fallback: "",
    help:
      "limit connections in total; the system's file descriptors by default; the longest idle connections close first",
  },
  maxConnectionsPerAddress: {
    flag: "--max-connections-per-address",
    env: "PORTWAY_MAX_CONNECTIONS_PER_ADDRESS",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: String(DEFAULT_LIMITS.maxConnectionsPerAddress),
    help:
      "limit connections from an address or a /64 IPv6 network, and a visitor's open requests over HTTP/2 or behind a trusted proxy",
  },
  headSeconds: {
    flag: "--head-seconds",
    env: "PORTWAY_HEAD_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 3600),
    fallback: String(DEFAULT_LIMITS.headSeconds),
    help: "limit the time for a request's head, and for a TLS handshake",
  },
  idleSeconds: {
    flag: "--idle-seconds",
    env: "PORTWAY_IDLE_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 86_400),
    fallback: String(DEFAULT_LIMITS.idleSeconds),
    help: "close idle connections after this time",
  },
  bodyRate: {
    flag: "--body-rate",
    env: "PORTWAY_BODY_RATE",
    metavar: "BYTES",
    parse: integer(0, MAX_INT),
    fallback: String(DEFAULT_LIMITS.bodyRate),
    help: "close connections whose request body is slower than this many bytes a second, on average over 30 seconds",
  },
  stallSeconds: {
    flag: "--stall-seconds",
    env: "PORTWAY_STALL_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 86_400),
    fallback: String(DEFAULT_LIMITS.stallSeconds),
    help: "close connections whose visitor reads no response bytes for this time",
  },
  streamIdleSeconds: {
    flag: "--stream-idle-seconds",
    env: "PORTWAY_STREAM_IDLE_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 86_400),
    fallback: "300",
    help: "end requests without any bytes for this time; WebSockets have no limit",
  },
  drainSeconds: {
    flag: "--drain-seconds",
    env: "PORTWAY_DRAIN_SECONDS",
    metavar: "SECONDS",
    parse: integer(0, 3600),
    fallback: "30",
    help: "wait this long for open requests after SIGTERM",
  },
  proxyAllow: {
    heading: "Proxy",
    flag: "--proxy-allow",
    env: "PORTWAY_PROXY_ALLOW",
    metavar: "HOSTS",
    parse: list,
    fallback: "",
    help: "allow these private hosts for the proxy: names, addresses and ranges, separated by commas",
  },
  proxyOrigins: {
    flag: "--proxy-origins",
    env: "PORTWAY_PROXY_ORIGINS",
    metavar: "ORIGINS",
    parse: pageOrigins,
    fallback: "",
    help:
      "allow pages from these origins to use the proxy, separated by commas, or *; * on loopback and none elsewhere by default",
  },
  proxyToken: {
    flag: "--proxy-token",
    env: "PORTWAY_PROXY_TOKEN",
    metavar: "TOKEN",
    parse: optionalText,
    fallback: "",
    help: "require this access token from the proxy's callers",
    secret: true,
  },
  proxyRequestsPerMinute: {
    flag: "--proxy-requests-per-minute",
    env: "PORTWAY_PROXY_REQUESTS_PER_MINUTE",
    metavar: "COUNT",
    parse: optionalCount,
    fallback: "",
    help: "limit proxy requests from an address a minute; 0 for no limit; 0 on loopback and 300 elsewhere by default",
  },
  proxyMaxRequests: {
    flag: "--proxy-max-requests",
    env: "PORTWAY_PROXY_MAX_REQUESTS",
    metavar: "COUNT",
    parse: integer(1, 65_536),
    fallback: "1024",
    help: "limit the proxy's open requests; more get 503",
  },
  proxyMaxBytes: {
    flag: "--proxy-max-bytes",
    env: "PORTWAY_PROXY_MAX_BYTES",
    metavar: "BYTES",
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: "33554432",
    help: "limit a JSON response and a request's description; streamed responses have no limit",
  },
  proxyMaxUploadBytes: {
    flag: "--proxy-max-upload-bytes",
    env: "PORTWAY_PROXY_MAX_UPLOAD_BYTES",
    metavar: "BYTES",
    parse: integer(1024, Number.MAX_SAFE_INTEGER),
    fallback: "10737418240",
    help: "limit a form that the proxy streams",
  },
  proxyTimeoutSeconds: {
    flag: "--proxy-timeout-seconds",
    env: "PORTWAY_PROXY_TIMEOUT_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 86_400),
    fallback: "60",
    help: "limit the time for an upstream's response after the upload; a streamed response must begin in this time",
  },
  proxySkipTlsVerify: {
    flag: "--proxy-skip-tls-verify",
    env: "PORTWAY_PROXY_SKIP_TLS_VERIFY",
    parse: boolean,
    fallback: "false",
    help: "let callers skip the upstream's certificate check with skipTlsVerify",
  },
  proxyFiles: {
    flag: "--proxy-files",
    env: "PORTWAY_PROXY_FILES",
    metavar: "FOLDER",
    parse: optionalFolder,
    fallback: "",
    help: "serve this folder at /proxy/files/ and for file: references in forms",
  },
  [REMOVED]: {
    ephemeralDomain: {
      flag: "--ephemeral-domain",
      env: "PORTWAY_EPHEMERAL_DOMAIN",
      instead: "use --tunnel-domains, which has the domains of both kinds of tunnels",
    },
    tunnelDomain: {
      flag: "--tunnel-domain",
      env: "PORTWAY_TUNNEL_DOMAIN",
      instead: "use --tunnel-domains, which has the domains of both kinds of tunnels",
    },
    databaseConnections: {
      flag: "--database-connections",
      env: "PORTWAY_DATABASE_CONNECTIONS",
      instead: "--database-url alone is enough: the server opens 10 connections at most",
    },
    maxUpgrades: {
      flag: "--max-upgrades",
      env: "PORTWAY_MAX_UPGRADES",
      instead: "use --max-streams, which limits upgrades too",
    },
    viewCaptures: {
      flag: "--view-captures",
      env: "PORTWAY_VIEW_CAPTURES",
      instead: "use --view-bytes, which counts 16 KiB or more for each capture",
    },
    viewCallsPerAddress: {
      flag: "--view-calls-per-address",
      env: "PORTWAY_VIEW_CALLS_PER_ADDRESS",
      instead: "use --view-calls-per-minute, which limits each address too",
    },
    maxHeadFields: {
      flag: "--max-head-fields",
      env: "PORTWAY_MAX_HEAD_FIELDS",
      instead: "use --max-head-bytes; a request has at most 250 fields",
    },
    handshakeSeconds: {
      flag: "--handshake-seconds",
      env: "PORTWAY_HANDSHAKE_SECONDS",
      instead: "use --head-seconds, which limits handshakes too",
    },
    bodySeconds: {
      flag: "--body-seconds",
      env: "PORTWAY_BODY_SECONDS",
      instead: "use --body-rate, which counts bytes over 30 seconds",
    },
    proxyMaxDescriptionBytes: {
      flag: "--proxy-max-description-bytes",
      env: "PORTWAY_PROXY_MAX_DESCRIPTION_BYTES",
      instead: "use --proxy-max-bytes, which limits descriptions too",
    },
    signUp: { flag: "--sign-up", instead: "use signup, the name of --signup" },
  },
} satisfies OptionTable;

/** The options for copying the database. */
export const backUpOptions = {
  dataDir: serverOptions.dataDir,
  databaseUrl: serverOptions.databaseUrl,
  json: { ...serverOptions.json, heading: "Output" },
} satisfies OptionTable;

/** The options for `portway proxy`. */
export const proxyOnlyOptions = {
  host: serverOptions.host,
  port: serverOptions.port,
  url: serverOptions.url,
  tlsCert: serverOptions.tlsCert,
  tlsKey: serverOptions.tlsKey,
  trustedProxies: serverOptions.trustedProxies,
  metrics: serverOptions.metrics,
  listener: serverOptions.listener,
  logFormat: serverOptions.logFormat,
  logLevel: serverOptions.logLevel,
  json: serverOptions.json,
  maxHeadBytes: serverOptions.maxHeadBytes,
  maxConnections: serverOptions.maxConnections,
  maxConnectionsPerAddress: serverOptions.maxConnectionsPerAddress,
  headSeconds: serverOptions.headSeconds,
  idleSeconds: serverOptions.idleSeconds,
  bodyRate: serverOptions.bodyRate,
  stallSeconds: serverOptions.stallSeconds,
  streamIdleSeconds: serverOptions.streamIdleSeconds,
  drainSeconds: serverOptions.drainSeconds,
  proxyAllow: serverOptions.proxyAllow,
  proxyOrigins: serverOptions.proxyOrigins,
  proxyToken: serverOptions.proxyToken,
  proxyRequestsPerMinute: serverOptions.proxyRequestsPerMinute,
  proxyMaxRequests: serverOptions.proxyMaxRequests,
  proxyMaxBytes: serverOptions.proxyMaxBytes,
  proxyMaxUploadBytes: serverOptions.proxyMaxUploadBytes,
  proxyTimeoutSeconds: serverOptions.proxyTimeoutSeconds,
  proxySkipTlsVerify: serverOptions.proxySkipTlsVerify,
  proxyFiles: serverOptions.proxyFiles,
  openPaths: {
    flag: "--open-paths",
    env: "PORTWAY_OPEN_PATHS",
    parse: boolean,
    fallback: "false",
    help: "accept URLs directly after the server's address too, as in http://localhost:8787/https://example.com/",
  },
  [REMOVED]: serverOptions[REMOVED],
} satisfies OptionTable;

/** The parsed options for `portway proxy`. */
export type ProxyOnlyConfig = OptionValues<typeof proxyOnlyOptions>;

/** The parsed options for `portway server`. */
export type ServerConfig = OptionValues<typeof serverOptions>;

/** The options that both commands have. */
export type ProxyConfig = Pick<ServerConfig, keyof ServerConfig & keyof ProxyOnlyConfig>;
