import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { retryWhileHeld } from "../../common/platform/mod.ts";
import type { OwnedTunnel } from "./relay_api.ts";

/** A tunnel saved for `--resume`. */
export interface SavedTunnel extends OwnedTunnel {
  /** The relay's URL, or null with `embeddedPort` for the relay inside the client. */
  server: string | null;
  embeddedPort: number | null;
  /** The target's URL, or null for a folder or site, which the command line must name again. */
  target: string | null;
  /** The value of `--host-header`; null without one. */
  hostHeader: string | null;
  /** Whether links in responses were rewritten; absent in files from older releases. */
  localhostRewrite?: boolean;
}

/** Saved tunnels at most; older ones have expired long before. */
const MAX_SAVED = 20;

/**
 * The tunnels that this user opened, one private file each, so that simultaneous clients never overwrite each other.
 */
export class SavedTunnels {
  readonly #folder: string;

  /** @param folder the client's configuration folder; created if missing */
  constructor(folder: string) {
    this.#folder = join(folder, "tunnels");
  }

  /** Returns the newest unexpired tunnel that `matches`. */
  findLast(now: number, matches: (tunnel: SavedTunnel) => boolean): SavedTunnel | null {
    return this.#load().map(({ tunnel }) => tunnel)
      .findLast((tunnel) => tunnel !== null && tunnel.expiresAt > now && matches(tunnel)) ?? null;
  }

  /** Saves a tunnel as the newest and removes expired ones. Throws the system's error. */
  save(tunnel: SavedTunnel, now: number): void {
    const name = nameFor(tunnel.id);
    const others = this.#load().filter((entry) => entry.name !== name);
    // Keeps the order within one millisecond and after a clock change.
    const savedAt = Math.max(now, 1 + (others.at(-1)?.savedAt ?? 0));
    this.#store(name, JSON.stringify({ ...tunnel, savedAt }, null, 2));
    const kept = others.filter((entry) => entry.tunnel !== null && entry.tunnel.expiresAt > now).slice(1 - MAX_SAVED);
    for (const entry of others) if (!kept.includes(entry)) this.#delete(entry.name);
  }

  /** Removes a tunnel. */
  remove(id: string): void {
    this.#delete(nameFor(id));
  }

  /** Returns all entries, the newest last. */
  #load(): Entry[] {
    return listFiles(this.#folder).map((name) => loadEntry(this.#folder, name)).filter((entry) => entry !== null)
      .sort((a, b) => a.savedAt - b.savedAt);
  }

  /** Writes a temporary file and renames it, so that a crash leaves the old file or the new one. */
  #store(name: string, text: string): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const temporary = join(this.#folder, crypto.randomUUID());
    writeFileSync(temporary, text, { mode: 0o600 });
    retryWhileHeld(() => renameSync(temporary, join(this.#folder, name)));
  }

  #delete(name: string): void {
    retryWhileHeld(() => rmSync(join(this.#folder, name), { force: true }));
  }
}

/** A file in the folder. */
interface Entry {
  name: string;
  /** Null for a damaged file, which sorts first. */
  tunnel: SavedTunnel | null;
  savedAt: number;
}

const SUFFIX = ".json";

/** The server chooses the id, so it is not safe as a file name. */
const nameFor = (id: string) => `${createHash("sha256").update(id).digest("hex").slice(0, 32)}${SUFFIX}`;

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  } catch {
    // A missing or unreadable folder has no tunnel to resume. Saving reports the error.
    return [];
  }
}

/** Returns null for an unreadable file, which another client may have deleted a moment ago. */
function loadEntry(folder: string, name: string): Entry | null {
  try {
    return parseEntry(name, readFileSync(join(folder, name), "utf8"));
  } catch {
    return null;
  }
}

function parseEntry(name: string, text: string): Entry {
  const value = parseJson(text);
  return isSavedTunnel(value) ? { name, tunnel: value, savedAt: value.savedAt } : { name, tunnel: null, savedAt: -1 };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isSavedTunnel(value: unknown): value is SavedTunnel & { savedAt: number } {
  const fields = (value ?? {}) as Record<string, unknown>;
  const { id, secret, url, expiresAt, server, embeddedPort, target, hostHeader, localhostRewrite, savedAt } = fields;
  const isText = (field: unknown) => typeof field === "string";
  const isUrl = (field: unknown) => typeof field === "string" && URL.canParse(field);
  // The value becomes a header field.
  const isHost = (field: unknown) => typeof field === "string" && /^[\x21-\x7e]+$/.test(field);
  const isPort = Number.isInteger(embeddedPort) && Number(embeddedPort) >= 0 && Number(embeddedPort) <= 65_535;
  return isText(id) && isText(secret) && isUrl(url) && typeof expiresAt === "number" && typeof savedAt === "number" &&
    (server === null ? isPort : isUrl(server)) && (target === null || isUrl(target)) &&
    (hostHeader === null || isHost(hostHeader)) && ["undefined", "boolean"].includes(typeof localhostRewrite);
}
