import { readFileSync } from "node:fs";

/** Where a PostgreSQL is and who asks, taken apart. */
export interface PostgresAddress {
  host: string;
  port: number;
  /** Folder of its socket; then host and port only name it. */
  socketFolder: string | null;
  user: string;
  password: string;
  database: string;
  tls: "disable" | "prefer" | "require" | { ca: string | undefined };
}

const DEFAULT_PORT = 5432;
const PARAMETERS: ReadonlySet<string> = new Set(["host", "user", "sslmode", "sslrootcert"]);

/**
 * Reads a URL as libpq knows it: `postgres://user:password@host:5432/database`, with the parameters `sslmode`,
 * `sslrootcert`, `user` and, for the folder of a socket, `host`.
 * @throws Error whose message has nothing of the password
 */
export function parsePostgresAddress(text: string): PostgresAddress {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) throw new Error("a postgres:// URL is wanted");
  const { searchParams } = url;
  const unknown = [...searchParams.keys()].find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) throw new Error(`it has a parameter that is not known: "${unknown}"`);
  const host = searchParams.get("host") ?? url.hostname.replace(/^\[(.*)\]$/, "$1");
  const user = decodeURIComponent(url.username) || searchParams.get("user") || "";
  const database = decodeURIComponent(url.pathname.slice(1)) || user;
  if (user === "" || database === "") throw new Error("it names no user");
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

/** What may be shown of it. */
export function describeAddress({ user, host, port, database, socketFolder }: PostgresAddress): string {
  const place = socketFolder ?? (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);
  return `"${database}" of ${user} at ${place}`;
}

/** @throws Error when the mode is not known, or the file of an authority cannot be read */
function readTls(parameters: URLSearchParams): PostgresAddress["tls"] {
  const mode = parameters.get("sslmode") ?? "prefer", file = parameters.get("sslrootcert");
  if (mode === "disable" || mode === "prefer" || mode === "require") return mode;
  if (mode !== "verify-full") throw new Error("its sslmode is none of disable, prefer, require and verify-full");
  return { ca: file === null || file === "system" ? undefined : readFileSync(file, "utf8") };
}
