import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { explainError } from "../../common/explain_error.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { decodeText } from "../../common/platform/mod.ts";
import { type ProxyConfig, proxyOnlyOptions } from "../config.ts";

/** PEM texts for a TLS listener. */
export interface TlsFiles {
  cert: string;
  key: string;
}

/**
 * Reads the files of `--tls-cert` and `--tls-key`; undefined without these options.
 * @throws OptionError for unusable files, which a listener might report only to its first visitor
 */
export function readTls(config: ProxyConfig): TlsFiles | undefined {
  const { tlsCert, tlsKey } = config;
  if (tlsCert === null && tlsKey === null) return undefined;
  if (tlsCert === null || tlsKey === null) throw new OptionError("--tls-cert and --tls-key go together");
  return {
    cert: readChecked(nameSource(proxyOnlyOptions, config, "tlsCert"), tlsCert, (text) => new X509Certificate(text)),
    key: readChecked(nameSource(proxyOnlyOptions, config, "tlsKey"), tlsKey, createPrivateKey),
  };
}

function readChecked(source: string, path: string, check: (text: string) => unknown): string {
  try {
    const text = decodeText(readFileSync(path));
    check(text);
    return text;
  } catch (cause) {
    throw new OptionError(`${source}: cannot use ${JSON.stringify(path)}: ${explainError(cause)}`, { cause });
  }
}
