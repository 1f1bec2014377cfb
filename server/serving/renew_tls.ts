import { createPrivateKey, X509Certificate } from "node:crypto";
import { stat } from "node:fs/promises";
import type { Listener } from "../../net/listener/mod.ts";
import { describeError, type Logger } from "../../common/log.ts";
import type { ProxyConfig } from "../config.ts";
import { readTls, type TlsFiles } from "./read_tls.ts";

const LOOK_EVERY_MS = 1000;

/**
 * Looks after the files of the certificate, which somebody renews every few weeks: what has changed is used from then
 * on, without a restart. A pair that is no pair, as while only one of them has been replaced, is told of, and the one
 * of before stays.
 * @returns ends it
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
  /** What the files were at the last look, and when they were last used or told of. */
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

  /** What changed is used at the second look that finds it so: then nobody is writing any more. */
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
      if (this.#listener.setCertificate === undefined) throw new Error("--listener deno takes it at the next start");
      this.#listener.setCertificate(files);
      this.#log.info("certificate_renewed", { until: new X509Certificate(files.cert).validTo });
    } catch (error) {
      this.#log.warn("certificate_not_renewed", { reason: describeError(error), hint: "the one of before stays" });
    }
  }
}

/** By time and identity, as a renewed file may lie behind a link that was changed. */
async function describeFiles(paths: readonly string[]): Promise<string> {
  const described = paths.map(async (path) => {
    try {
      const { mtimeMs, ino, size } = await stat(path);
      return `${mtimeMs} ${ino} ${size}`;
    } catch {
      // Between the old one and the new one there may be none.
      return "missing";
    }
  });
  return (await Promise.all(described)).join(", ");
}

function checkPair({ cert, key }: TlsFiles): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("the private key is not that of the certificate");
  }
}
