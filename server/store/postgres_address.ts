import { readFileSync } from "node:fs";

/** A PostgreSQL address in its parts. */
export interface PostgresAddress {
  host: string;
  port: number;
  /** The folder with its socket. Host and port are then only used as a name. */
  socketFolder: string | null;
  user: string;
  password: string;
  database: string;
  tls: "disable" | "prefer" | "require" | { ca: string | undefined };
}

const DEFAULT_PORT = 5432;
const PARAMETERS: ReadonlySet<string> = new Set(["host", "user", "sslmode", "sslrootcert"]);

/**
 * Parses a URL in libpq's form: `postgres://user:password@host:5432/database`, with the parameters `sslmode`,
 * `sslrootcert`, `user` and, for a socket folder, `host`.
 * @throws Error whose message does not contain the password
 */
export function parsePostgresAddress(text: string): PostgresAddress {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) throw new Error("expected a postgres:// URL");
  const { searchParams } = url;
  const unknown = [...searchParams.keys()].find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) throw new Error(`unknown parameter "${unknown}"`);
  const host = searchParams.get("host") ?? url.hostname.replace(/^\[(.*)\]$/, "$1");
  const user = decodeURIComponent(url.username) || searchParams.get("user") || "";
  const database = decodeURIComponent(url.pathname.slice(1)) || user;
  if (user === "" || database === "") throw new Error("the URL names no user");
  return {
    host: host === "" ? "localhost" : host,
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    socketFolder: host.startsWith("/") ? host : null,
    user,
    password: decodeURIComponent(url.password),
    database,
    tls: host.startsWith("/") ? "disable" : readTls(searchParams),
  };
}

/** Describes an address without its password. */
export function describeAddress({ user, host, port, database, socketFolder }: PostgresAddress): string {
  const target = socketFolder ?? (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);
  return `"${database}" of ${user} at ${target}`;
}

/** Parses the TLS parameters. @throws Error for an unknown mode or an unreadable certificate file */
function readTls(parameters: URLSearchParams): PostgresAddress["tls"] {
  const mode = parameters.get("sslmode") ?? "prefer", file = parameters.get("sslrootcert");
  if (mode === "disable" || mode === "prefer" || mode === "require") return mode;
  if (mode !== "verify-full") throw new Error("sslmode must be disable, prefer, require or verify-full");
  return { ca: file === null || file === "system" ? undefined : readFileSync(file, "utf8") };
}
