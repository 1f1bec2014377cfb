import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { describeError } from "../common/log.ts";
import { OptionError } from "../common/options.ts";
import type { ServerConfig } from "./config.ts";

/** PEM texts that a listener ends TLS with. */
export interface TlsFiles {
  cert: string;
  key: string;
}

/**
 * Reads what `--tls-cert` and `--tls-key` name; undefined when neither is given.
 * @throws OptionError when they cannot be used. A listener may say so only to its first visitor.
 */
export function readTls({ tlsCert, tlsKey }: Pick<ServerConfig, "tlsCert" | "tlsKey">): TlsFiles | undefined {
  if (tlsCert === null && tlsKey === null) return undefined;
  if (tlsCert === null || tlsKey === null) throw new OptionError("--tls-cert and --tls-key go together");
  return {
    cert: readChecked("--tls-cert", tlsCert, (text) => new X509Certificate(text)),
    key: readChecked("--tls-key", tlsKey, createPrivateKey),
  };
}

function readChecked(flag: string, path: string, check: (text: string) => unknown): string {
  try {
    const text = readFileSync(path, "utf8");
    check(text);
    return text;
  } catch (cause) {
    throw new OptionError(`${flag}: cannot use ${JSON.stringify(path)}: ${describeError(cause)}`, { cause });
  }
}
