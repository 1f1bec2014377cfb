import { homedir } from "node:os";
import { join } from "node:path";
import { boolean, optionalOrigin, optionalText, type OptionTable, type OptionValues } from "../common/options.ts";

/** Every option of the client. Flags, environment, help and docs/configuration.md come from this table alone. */
export const clientOptions = {
  expose: {
    flag: "--expose",
    short: "-e",
    metavar: "PORT",
    parse: optionalTarget,
    fallback: "",
    help: "give the service on this local port a public URL; an http:// or https:// URL works too",
  },
  resume: {
    flag: "--resume",
    parse: boolean,
    fallback: "false",
    help: "take the last tunnel that has not expired back, with its URL and its remaining time",
  },
  server: {
    flag: "--server",
    env: "PORTWAY_SERVER",
    metavar: "URL",
    parse: optionalOrigin,
    fallback: "",
    help: "the Portway server; without one the client runs its own, which only this machine can reach",
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
    parse: optionalText,
    fallback: "",
    help: 'the Host that the local service sees: its own address when not set, "public" for the one visitors ask for',
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
    help: "where the client keeps its tunnels for --resume; the platform's usual place when not set",
  },
  json: {
    flag: "--json",
    parse: boolean,
    fallback: "false",
    help: "print events on standard output as one JSON object a line",
  },
  noColor: {
    flag: "--no-color",
    env: "NO_COLOR",
    parse: (value: string) => value !== "" && value !== "false",
    fallback: "false",
    help: "print without colours",
  },
  verbose: {
    flag: "--verbose",
    parse: boolean,
    fallback: "false",
    help: "say more about what happens, on standard error",
  },
} satisfies OptionTable;

export type ClientConfig = OptionValues<typeof clientOptions>;

/** The port, or the URL, of a local service; null when empty. */
function optionalTarget(text: string): URL | null {
  if (text === "") return null;
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= 65535) {
    return new URL(`http://localhost:${Number(text)}`);
  }
  const url = /^https?:\/\//.test(text) && URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw new RangeError("a port from 1 to 65535 is wanted, or an http:// or https:// URL");
  if (url.pathname !== "/" || url.search || url.hash || url.username) {
    throw new SyntaxError("only scheme, host and port are wanted");
  }
  return url;
}

/** The folder for what the client keeps, by the platform's custom. */
export function defaultConfigDir(env: Readonly<Record<string, string | undefined>>, platform: string): string {
  if (platform === "win32") return join(env.APPDATA ?? join(homedir(), "AppData", "Roaming"), "portway");
  if (platform === "darwin") return join(homedir(), "Library", "Application Support", "portway");
  return join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "portway");
}
