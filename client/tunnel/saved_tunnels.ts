import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { OwnedTunnel } from "./relay_api.ts";

/** A tunnel as it is kept for `--resume`. */
export interface SavedTunnel extends OwnedTunnel {
  /** The relay's URL; or null with `embeddedPort` for the relay inside the client. */
  server: string | null;
  embeddedPort: number | null;
  /** What it led to: a URL, or null for a folder or site, which the command line names again. */
  target: string | null;
}

/** Tunnels kept at most; older ones have expired long before. */
const MAX_SAVED = 20;

/** The tunnels this user has opened, newest last, in a file that only they can read. */
export class SavedTunnels {
  readonly #path: string;

  /** @param folder of the client's configuration; made when missing */
  constructor(folder: string) {
    this.#path = join(folder, "tunnels.json");
  }

  /** The newest that has not expired and that `matches`. */
  findLast(now: number, matches: (tunnel: SavedTunnel) => boolean): SavedTunnel | null {
    return this.#load().findLast((tunnel) => tunnel.expiresAt > now && matches(tunnel)) ?? null;
  }

  /** Puts a tunnel last. */
  save(tunnel: SavedTunnel, now: number): void {
    const others = this.#load().filter(({ id, expiresAt }) => id !== tunnel.id && expiresAt > now);
    this.#store([...others.slice(1 - MAX_SAVED), tunnel]);
  }

  /** Forgets one that is over. */
  remove(id: string): void {
    this.#store(this.#load().filter((tunnel) => tunnel.id !== id));
  }

  #load(): SavedTunnel[] {
    try {
      const value: unknown = JSON.parse(readFileSync(this.#path, "utf8"));
      return Array.isArray(value) ? value.filter(isSavedTunnel) : [];
    } catch {
      // Missing or damaged: nothing to resume. The next save writes it anew.
      return [];
    }
  }

  /** Written beside and renamed, so that a crash leaves the old file or the new one. */
  #store(tunnels: SavedTunnel[]): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const temporary = `${this.#path}.${crypto.randomUUID()}`;
    writeFileSync(temporary, JSON.stringify(tunnels, null, 2), { mode: 0o600 });
    renameSync(temporary, this.#path);
  }
}

function isSavedTunnel(value: unknown): value is SavedTunnel {
  const { id, secret, url, expiresAt, server, embeddedPort, target } = (value ?? {}) as Record<string, unknown>;
  const isText = (field: unknown) => typeof field === "string";
  const isUrl = (field: unknown) => typeof field === "string" && URL.canParse(field);
  const isPort = Number.isInteger(embeddedPort) && Number(embeddedPort) >= 0 && Number(embeddedPort) <= 65_535;
  return isText(id) && isText(secret) && isUrl(url) && typeof expiresAt === "number" &&
    (server === null ? isPort : isUrl(server)) && (target === null || isUrl(target));
}
