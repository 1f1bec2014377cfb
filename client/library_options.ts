import { describeValue } from "../common/describe_value.ts";
import { findClosest } from "../common/find_closest.ts";

/** The target of a tunnel that code opens: exactly one of `port`, `url`, `folder` and `fetch`. */
type TunnelTarget =
  | {
    /** The port of a service on this machine. */
    port: number;
    url?: undefined;
    folder?: undefined;
    fetch?: undefined;
  }
  | {
    /** The `http:` or `https:` URL of a service. */
    url: string | URL;
    port?: undefined;
    folder?: undefined;
    fetch?: undefined;
  }
  | {
    /** A folder or a file, shared as a page that visitors can browse. */
    folder: string;
    /** Visitors can upload, rename and delete. */
    writable?: boolean | undefined;
    /** Visitors must enter it. */
    passphrase?: string | undefined;
    port?: undefined;
    url?: undefined;
    fetch?: undefined;
  }
  | {
    /** A function in this process that responds to visitors. */
    fetch: (request: Request) => Response | Promise<Response>;
    port?: undefined;
    url?: undefined;
    folder?: undefined;
  };

/** Options of a tunnel that code opens. */
export type OpenTunnelOptions = TunnelTarget & {
  /** The server; by default `PORTWAY_SERVER`, and without that a server inside this process. */
  server?: string | URL | undefined;
  /** Closes the tunnel. */
  signal?: AbortSignal | undefined;
};

/** Checked options: the four targets beside each other. */
export interface CheckedOptions {
  port: number | undefined;
  url: URL | undefined;
  folder: string | undefined;
  fetch: ((request: Request) => Response | Promise<Response>) | undefined;
  writable: boolean;
  passphrase: string | undefined;
  server: URL | undefined;
  signal: AbortSignal | undefined;
}

const TARGETS = ["port", "url", "folder", "fetch"] as const;
const NAMES = [...TARGETS, "writable", "passphrase", "server", "signal"] as const;

/**
 * Checks the options that a program passed.
 * @throws TypeError that names the wrong option
 */
export function checkOptions(given: unknown): CheckedOptions {
  if (typeof given !== "object" || given === null) {
    throw new TypeError(`cannot open a tunnel: options are expected, not ${describeValue(given)}`);
  }
  const options: Partial<Record<typeof NAMES[number], unknown>> = given;
  for (const name of Object.keys(given)) {
    if (NAMES.some((known) => known === name)) continue;
    const closest = findClosest(name, NAMES);
    throw new TypeError(`unknown option "${name}"${closest === null ? "" : `: did you mean "${closest}"?`}`);
  }
  const targets = TARGETS.filter((name) => options[name] !== undefined);
  if (targets.length !== 1) throw new TypeError("one of port, url, folder and fetch is expected");
  for (const name of ["writable", "passphrase"] as const) {
    if (options[name] !== undefined && targets[0] !== "folder") throw new TypeError(`option "${name}" needs "folder"`);
  }
  const { port, url, folder, fetch, writable, passphrase, server, signal } = options;
  return {
    port: check("port", port, isPort, "a whole number from 1 to 65535"),
    url: checkUrl("url", url),
    folder: check("folder", folder, isText, "a path"),
    fetch: check("fetch", fetch, isHandler, "a function"),
    writable: check("writable", writable, isBoolean, "true or false") ?? false,
    passphrase: check("passphrase", passphrase, isText, "a text of at least one character"),
    server: checkUrl("server", server),
    signal: check("signal", signal, isSignal, "an AbortSignal"),
  };
}

const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65535;
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
const isHandler = (value: unknown): value is NonNullable<CheckedOptions["fetch"]> => typeof value === "function";
const isSignal = (value: unknown): value is AbortSignal => value instanceof AbortSignal;

function check<T>(
  name: string,
  value: unknown,
  isRight: (value: unknown) => value is T,
  expected: string,
): T | undefined {
  if (value === undefined) return undefined;
  if (isRight(value)) return value;
  const shown = typeof value === "string" ? JSON.stringify(value) : describeValue(value);
  throw new TypeError(`option "${name}" is ${shown}: ${expected} is expected`);
}

function checkUrl(name: string, value: unknown): URL | undefined {
  const expected = "a URL with http:// or https://";
  const text = value instanceof URL ? value.href : check(name, value, isText, expected);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new TypeError(`option "${name}" is ${JSON.stringify(text)}: ${expected} is expected`);
}
