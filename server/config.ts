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
  if (parseEmail(address) === null) throw new SyntaxError("an email address is wanted, or Name <address>");
  return value;
}

/** Every option of the server. Flags, environment, help and docs/reference/configuration.md come from this table alone. */
export const serverOptions = {
  host: {
    heading: "Addresses",
    flag: "--host",
    env: "PORTWAY_HOST",
    metavar: "ADDRESS",
    parse: text,
    fallback: "127.0.0.1",
    help: "address to listen on; 0.0.0.0 or :: for all",
  },
  port: {
    flag: "--port",
    env: "PORTWAY_PORT",
    metavar: "PORT",
    parse: integer(0, 65535),
    fallback: "8787",
    help: "port to listen on; 0 takes a free one",
  },
  url: {
    flag: "--url",
    env: "PORTWAY_URL",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "public URL of this server; http://localhost:<port> when not set",
  },
  apiUrl: {
    flag: "--api-url",
    env: "PORTWAY_API_URL",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "public URL of what request views capture; that of the server when not set",
  },
  hqUrl: {
    flag: "--hq-url",
    env: "PORTWAY_HQ_URL",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "public URL of the management site; that of the server when not set",
  },
  tunnelDomains: {
    flag: "--tunnel-domains",
    env: "PORTWAY_TUNNEL_DOMAINS",
    metavar: "DOMAINS",
    parse: domains,
    fallback: "",
    help:
      "domain below which tunnels appear; or two, for ephemeral and for persistent tunnels, separated by a comma; try.<host> and tunnel.<host> of the URL by default",
  },
  tlsCert: {
    flag: "--tls-cert",
    env: "PORTWAY_TLS_CERT",
    metavar: "FILE",
    parse: optionalText,
    fallback: "",
    help:
      "PEM file of the certificate chain; with --tls-key the server ends TLS itself, and takes up a renewed pair without a restart",
  },
  tlsKey: {
    flag: "--tls-key",
    env: "PORTWAY_TLS_KEY",
    metavar: "FILE",
    parse: optionalText,
    fallback: "",
    help: "PEM file of the private key",
  },
  trustedProxies: {
    flag: "--trusted-proxies",
    env: "PORTWAY_TRUSTED_PROXIES",
    metavar: "ADDRESSES",
    parse: list,
    fallback: "",
    help: "addresses or ranges of reverse proxies whose X-Forwarded-* headers are believed, separated by commas",
  },
  listener: {
    flag: "--listener",
    env: "PORTWAY_LISTENER",
    metavar: "KIND",
    parse: choice<ListenerKind>("edge", "deno"),
    fallback: "edge",
    help: "edge is our own and fit for the Internet; deno is the runtime's, without time limits: only behind a proxy",
  },
  metrics: {
    flag: "--metrics",
    env: "PORTWAY_METRICS",
    metavar: "ADDRESS",
    parse: optionalListenAddress,
    fallback: "",
    help:
      "tell metrics for Prometheus at http://<ADDRESS>/metrics, as 127.0.0.1:9090 or a port alone for this machine only; nobody is asked who they are there",
  },
  dataDir: {
    heading: "Storage",
    flag: "--data-dir",
    env: "PORTWAY_DATA_DIR",
    metavar: "FOLDER",
    parse: text,
    fallback: "portway-data",
    help: "folder of the database, of this server alone; made when missing",
  },
  databaseUrl: {
    flag: "--database-url",
    env: "PORTWAY_DATABASE_URL",
    metavar: "URL",
    parse: optionalDatabaseUrl,
    fallback: "",
    help:
      "PostgreSQL that takes the place of the database in the folder, as postgres://user@host/name; with a password in it only as variable, since flags can be seen by everybody on the machine",
    secret: true,
  },
  logFormat: {
    heading: "Output",
    flag: "--log-format",
    env: "PORTWAY_LOG_FORMAT",
    metavar: "FORMAT",
    parse: choice<LogFormat>("text", "json"),
    fallback: "text",
    help: "text or json",
  },
  logLevel: {
    flag: "--log-level",
    env: "PORTWAY_LOG_LEVEL",
    metavar: "LEVEL",
    parse: choice<LogLevel>("debug", "info", "warn", "error"),
    fallback: "info",
    help: "least level that is written: debug, info, warn or error",
  },
  json: {
    flag: "--json",
    parse: boolean,
    fallback: "false",
    help: "print events on standard output as one JSON object a line",
  },
  adminEmail: {
    heading: "Accounts",
    flag: "--admin-email",
    env: "PORTWAY_ADMIN_EMAIL",
    metavar: "ADDRESS",
    parse: optionalEmail,
    fallback: "",
    help: "email address of the first user, an admin, who is made when there is none; else the log has a link for that",
  },
  adminPassword: {
    flag: "--admin-password",
    env: "PORTWAY_ADMIN_PASSWORD",
    metavar: "PASSWORD",
    parse: optionalPassword,
    fallback: "",
    help: "their password; the variable is safer, as other users of the machine can read flags",
    secret: true,
  },
  signup: {
    flag: "--signup",
    env: "PORTWAY_SIGNUP",
    metavar: "POLICY",
    parse: choice("open", "invitation", "closed"),
    fallback: "invitation",
    help: "who may become a user: anybody (open), who was invited to an account (invitation), or nobody (closed)",
  },
  defaultPlan: {
    flag: "--default-plan",
    env: "PORTWAY_DEFAULT_PLAN",
    metavar: "PLAN",
    parse: choice("free", "paid"),
    fallback: "free",
    help: "plan of new accounts: free, or paid, which persistent tunnels need",
  },
  smtpUrl: {
    flag: "--smtp-url",
    env: "PORTWAY_SMTP_URL",
    metavar: "URL",
    parse: optionalSmtpUrl,
    fallback: "",
    help:
      "mail server for invitations and new passwords, smtp://user:password@host:587, or smtps: for TLS from the start; without one, links are shown to whoever may pass them on",
    secret: true,
  },
  mailFrom: {
    flag: "--mail-from",
    env: "PORTWAY_MAIL_FROM",
    metavar: "ADDRESS",
    parse: optionalSender,
    fallback: "",
    help: "sender of mails; Portway <portway@<host of the URL>> when not set",
  },
  ephemeralSeconds: {
    heading: "Ephemeral tunnels",
    flag: "--ephemeral-seconds",
    env: "PORTWAY_EPHEMERAL_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 60 * 60 * 24 * 365),
    fallback: "3600",
    help: "lifetime of an ephemeral tunnel",
  },
  ephemeralBytes: {
    flag: "--ephemeral-bytes",
    env: "PORTWAY_EPHEMERAL_BYTES",
    metavar: "BYTES",
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: "1000000000",
    help: "traffic of an ephemeral tunnel, both directions together",
  },
  tunnelsPerMinute: {
    flag: "--tunnels-per-minute",
    env: "PORTWAY_TUNNELS_PER_MINUTE",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "10",
    help: "ephemeral tunnels that one address, or IPv6 network of 64 bits, may make a minute",
  },
  maxTunnels: {
    flag: "--max-tunnels",
    env: "PORTWAY_MAX_TUNNELS",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "10000",
    help: "ephemeral tunnels altogether that have not expired; more are answered with 503",
  },
  monthlyBytes: {
    heading: "Persistent tunnels",
    flag: "--monthly-bytes",
    env: "PORTWAY_MONTHLY_BYTES",
    metavar: "BYTES",
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: "25000000000",
    help: "traffic a month (UTC) of each user of an account through persistent tunnels, both directions together",
  },
  maxTunnelsPerAccount: {
    flag: "--max-tunnels-per-account",
    env: "PORTWAY_MAX_TUNNELS_PER_ACCOUNT",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "100",
    help: "persistent tunnels that one account may have",
  },
  maxStreams: {
    heading: "Sessions",
    flag: "--max-streams",
    env: "PORTWAY_MAX_STREAMS",
    metavar: "COUNT",
    parse: integer(1, 65_536),
    fallback: "4096",
    help: "requests that one session carries at a time, and WebSockets and other upgrades; more get 503",
  },
  maxSessionsPerAddress: {
    flag: "--max-sessions-per-address",
    env: "PORTWAY_MAX_SESSIONS_PER_ADDRESS",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "32",
    help: "sessions that one address, or IPv6 network of 64 bits, may hold at a time; more are answered with 429",
  },
  holdSeconds: {
    flag: "--hold-seconds",
    env: "PORTWAY_HOLD_SECONDS",
    metavar: "SECONDS",
    parse: integer(0, 60),
    fallback: "5",
    help: "how long visitors wait for a client that has just dropped off before they get 503",
  },
  viewBodyBytes: {
    heading: "Request views",
    flag: "--view-body-bytes",
    env: "PORTWAY_VIEW_BODY_BYTES",
    metavar: "BYTES",
    parse: integer(1024, 2 ** 40),
    fallback: "33554432",
    help: "body of a call that a view captures; more is answered with 413",
  },
  viewBytes: {
    flag: "--view-bytes",
    env: "PORTWAY_VIEW_BYTES",
    metavar: "BYTES",
    parse: integer(1024, Number.MAX_SAFE_INTEGER),
    fallback: "268435456",
    help:
      "total size of the captures that a view keeps, 16 KiB or more for each; a new capture replaces the oldest ones",
  },
  viewRetentionDays: {
    flag: "--view-retention-days",
    env: "PORTWAY_VIEW_RETENTION_DAYS",
    metavar: "DAYS",
    parse: integer(1, 36500),
    fallback: "30",
    help: "days after which captures are deleted, at most and at first",
  },
  viewsPerAccount: {
    flag: "--views-per-account",
    env: "PORTWAY_VIEWS_PER_ACCOUNT",
    metavar: "COUNT",
    parse: integer(0, MAX_INT),
    fallback: "100",
    help: "views that an account may have",
  },
  viewCallsPerMinute: {
    flag: "--view-calls-per-minute",
    env: "PORTWAY_VIEW_CALLS_PER_MINUTE",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: "6000",
    help: "calls a minute to one view, and from one address, or IPv6 network of 64 bits, to all views; more get 429",
  },
  viewReplaysPerMinute: {
    flag: "--view-replays-per-minute",
    env: "PORTWAY_VIEW_REPLAYS_PER_MINUTE",
    metavar: "COUNT",
    parse: integer(0, MAX_INT),
    fallback: "30",
    help: "captures that members of an account may have this server send again a minute; 0 for none",
  },
  viewReplayAllow: {
    flag: "--view-replay-allow",
    env: "PORTWAY_VIEW_REPLAY_ALLOW",
    metavar: "HOSTS",
    parse: list,
    fallback: "",
    help: "host names, addresses and ranges that captures may be sent to although they are not public",
  },
  maxHeadBytes: {
    heading: "Connections",
    flag: "--max-head-bytes",
    env: "PORTWAY_MAX_HEAD_BYTES",
    metavar: "BYTES",
    parse: integer(1024, MAX_REQUEST_HEAD),
    fallback: String(DEFAULT_LIMITS.maxHeadBytes),
    help: "size of a request's head (line and headers); more is answered with 431",
  },
  maxConnections: {
    flag: "--max-connections",
    env: "PORTWAY_MAX_CONNECTIONS",
    metavar: "COUNT",
    parse: optionalCount,
    fallback: "",
    help: "connections altogether; as many as the system has descriptors for when not set; the longest idle go first",
  },
  maxConnectionsPerAddress: {
    flag: "--max-connections-per-address",
    env: "PORTWAY_MAX_CONNECTIONS_PER_ADDRESS",
    metavar: "COUNT",
    parse: integer(1, MAX_INT),
    fallback: String(DEFAULT_LIMITS.maxConnectionsPerAddress),
    help:
      "connections of one address, or IPv6 network of 64 bits, the longest idle go first; requests at a time of a visitor over HTTP/2, or behind a trusted proxy, which itself has no limit",
  },
  headSeconds: {
    flag: "--head-seconds",
    env: "PORTWAY_HEAD_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 3600),
    fallback: String(DEFAULT_LIMITS.headSeconds),
    help: "time for a request's head to arrive, and for a TLS handshake",
  },
  idleSeconds: {
    flag: "--idle-seconds",
    env: "PORTWAY_IDLE_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 86_400),
    fallback: String(DEFAULT_LIMITS.idleSeconds),
    help: "time a connection is kept between two requests",
  },
  bodyRate: {
    flag: "--body-rate",
    env: "PORTWAY_BODY_RATE",
    metavar: "BYTES",
    parse: integer(0, MAX_INT),
    fallback: String(DEFAULT_LIMITS.bodyRate),
    help: "minimum bytes a second of a request's body that the server waits for, on average over 30 seconds",
  },
  stallSeconds: {
    flag: "--stall-seconds",
    env: "PORTWAY_STALL_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 86_400),
    fallback: String(DEFAULT_LIMITS.stallSeconds),
    help: "time for which a visitor may take nothing of an answer",
  },
  streamIdleSeconds: {
    flag: "--stream-idle-seconds",
    env: "PORTWAY_STREAM_IDLE_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 86_400),
    fallback: "300",
    help: "a request on which nothing moves for this long is ended; its total time has no limit, nor has a WebSocket",
  },
  drainSeconds: {
    flag: "--drain-seconds",
    env: "PORTWAY_DRAIN_SECONDS",
    metavar: "SECONDS",
    parse: integer(0, 3600),
    fallback: "30",
    help: "how long requests in flight may still run after SIGTERM",
  },
  proxyAllow: {
    heading: "Proxy",
    flag: "--proxy-allow",
    env: "PORTWAY_PROXY_ALLOW",
    metavar: "HOSTS",
    parse: list,
    fallback: "",
    help: "host names, addresses and ranges the proxy may reach although they are not public, separated by commas",
  },
  proxyOrigins: {
    flag: "--proxy-origins",
    env: "PORTWAY_PROXY_ORIGINS",
    metavar: "ORIGINS",
    parse: pageOrigins,
    fallback: "",
    help:
      "origins whose pages may use the proxy, separated by commas, or *; * on loopback and none elsewhere when not set",
  },
  proxyToken: {
    flag: "--proxy-token",
    env: "PORTWAY_PROXY_TOKEN",
    metavar: "TOKEN",
    parse: optionalText,
    fallback: "",
    help: "access token that callers of the proxy must show",
    secret: true,
  },
  proxyRequestsPerMinute: {
    flag: "--proxy-requests-per-minute",
    env: "PORTWAY_PROXY_REQUESTS_PER_MINUTE",
    metavar: "COUNT",
    parse: optionalCount,
    fallback: "",
    help:
      "requests that one address may have the proxy make a minute, 0 for any; 0 on loopback, 300 elsewhere when not set",
  },
  proxyMaxRequests: {
    flag: "--proxy-max-requests",
    env: "PORTWAY_PROXY_MAX_REQUESTS",
    metavar: "COUNT",
    parse: integer(1, 65_536),
    fallback: "1024",
    help: "requests that the proxy carries out at a time; more are answered with 503",
  },
  proxyMaxBytes: {
    flag: "--proxy-max-bytes",
    env: "PORTWAY_PROXY_MAX_BYTES",
    metavar: "BYTES",
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: "33554432",
    help: "size of a response in JSON, and of a request's description; streamed responses have no limit",
  },
  proxyMaxUploadBytes: {
    flag: "--proxy-max-upload-bytes",
    env: "PORTWAY_PROXY_MAX_UPLOAD_BYTES",
    metavar: "BYTES",
    parse: integer(1024, Number.MAX_SAFE_INTEGER),
    fallback: "10737418240",
    help: "size of a form that the proxy streams on",
  },
  proxyTimeoutSeconds: {
    flag: "--proxy-timeout-seconds",
    env: "PORTWAY_PROXY_TIMEOUT_SECONDS",
    metavar: "SECONDS",
    parse: integer(1, 86_400),
    fallback: "60",
    help: "time an upstream has to answer, from the end of an upload on; a streamed answer has to begin in it",
  },
  proxySkipTlsVerify: {
    flag: "--proxy-skip-tls-verify",
    env: "PORTWAY_PROXY_SKIP_TLS_VERIFY",
    parse: boolean,
    fallback: "false",
    help: "callers of the proxy may have the certificate of an upstream left unchecked, by skipTlsVerify",
  },
  proxyFiles: {
    flag: "--proxy-files",
    env: "PORTWAY_PROXY_FILES",
    metavar: "FOLDER",
    parse: optionalFolder,
    fallback: "",
    help: "folder that /proxy/files/ serves and file: references of forms may name; none when not set",
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

/** The options that say which database is copied, and how that is told. */
export const backUpOptions = {
  dataDir: serverOptions.dataDir,
  databaseUrl: serverOptions.databaseUrl,
  json: { ...serverOptions.json, heading: "Output" },
} satisfies OptionTable;

/** The options that concern a server that is only a proxy. */
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
    help: "URLs may stand right behind this server's address too, as in http://localhost:8787/https://example.com/",
  },
  [REMOVED]: serverOptions[REMOVED],
} satisfies OptionTable;

/** The options of `portway proxy`, read and checked. */
export type ProxyOnlyConfig = OptionValues<typeof proxyOnlyOptions>;

/** The options of `portway server`, read and checked. */
export type ServerConfig = OptionValues<typeof serverOptions>;

/** What a server and one that is only a proxy have in common. */
export type ProxyConfig = Pick<ServerConfig, keyof ServerConfig & keyof ProxyOnlyConfig>;
