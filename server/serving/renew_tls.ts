import { createPrivateKey, X509Certificate } from "node:crypto";
import { stat } from "node:fs/promises";
import type { Listener } from "../../net/listener/mod.ts";
import { describeError, type Logger } from "../../common/log.ts";
import type { ProxyConfig } from "../config.ts";
import { readTls, type TlsFiles } from "./read_tls.ts";

const LOOK_EVERY_MS = 1000;

/**
 * Watches the certificate files and uses a renewed pair without a restart. If the two files do not match, for instance
 * between two replacements, the watch logs a warning and keeps the present pair.
 * @returns a function that ends the watch
 */
export function watchTls(config: ProxyConfig, listener: Listener, log: Logger): () => void {
  const { tlsCert, tlsKey } = config;
  if (tlsCert === null || tlsKey === null) return () => {};
  const watch = new TlsWatch([tlsCert, tlsKey], () => readTls(config), listener, log);
  const timer = setInterval(() => void watch.look(), LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

class TlsWatch {
  readonly #paths: readonly string[];
  readonly #read: () => TlsFiles | undefined;
  readonly #listener: Listener;
  readonly #log: Logger;
  /** The files at the last look, and the files that were last used or reported. */
  #seen: string | null = null;
  #settled: string | null = null;
  #isLooking = false;

  constructor(paths: readonly string[], read: () => TlsFiles | undefined, listener: Listener, log: Logger) {
    this.#paths = paths;
    this.#read = read;
    this.#listener = listener;
    this.#log = log;
    void this.look();
  }

  /** Uses a change when two looks find the same files, since a writer may still be active at the first. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const before = this.#seen;
    const now = this.#seen = await describeFiles(this.#paths);
    this.#isLooking = false;
    this.#settled ??= now;
    if (now === this.#settled || now !== before) return;
    this.#settled = now;
    this.#use();
  }

  #use(): void {
    try {
      const files = this.#read();
      if (files === undefined) return;
      checkPair(files);
      if (this.#listener.setCertificate === undefined) throw new Error("--listener deno uses it after a restart");
      this.#listener.setCertificate(files);
      this.#log.info("certificate_renewed", { until: new X509Certificate(files.cert).validTo });
    } catch (error) {
      this.#log.warn("certificate_not_renewed", {
        reason: describeError(error),
        hint: "the server keeps the present certificate",
      });
    }
  }
}

/** Describes files by time and identity, since a renewal may only change a link. */
async function describeFiles(paths: readonly string[]): Promise<string> {
  const described = paths.map(async (path) => {
    try {
      const { mtimeMs, ino, size } = await stat(path);
      return `${mtimeMs} ${ino} ${size}`;
    } catch {
      // A renewal may remove the old file first.
      return "missing";
    }
  });
  return (await Promise.all(described)).join(", ");
}

function checkPair({ cert, key }: TlsFiles): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("the private key does not match the certificate");
  }
}
