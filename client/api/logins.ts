import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { delay } from "../../common/delay.ts";
import { describeError } from "../../common/log.ts";
import { retryWhileHeld } from "../../common/platform/mod.ts";
import { asRecord, parseJsonOrNull } from "./api_error.ts";
import { type IssuedTokens, isToken } from "./oauth.ts";

/** A stored login. */
export interface Login extends IssuedTokens {
  /** The origin of the issuing server. */
  server: string;
  /** The login time in Unix milliseconds. */
  loggedInAt: number;
}

/** The stored login is unreadable. The message names the file and the remedy. */
class LoginDamaged extends Error {
  override name = "LoginDamaged";
}

/** Age at which a lock counts as abandoned. A token refresh never takes this long. */
const STALE_LOCK_MS = 30_000;
const LOCK_RETRY_MS = 40;
const SUFFIX = ".json";

/** Stores the user's logins, one private file per server. */
export class Logins {
  readonly #folder: string;

  /** @param folder the client's configuration folder, created if missing */
  constructor(folder: string) {
    this.#folder = join(folder, "logins");
  }

  /**
   * Loads the login for a server, or null.
   * @throws LoginDamaged
   */
  load(server: URL): Login | null {
    return this.#read(nameFor(server.origin));
  }

  /** Returns whether a login file exists for a server, valid or damaged. */
  has(server: URL): boolean {
    return existsSync(join(this.#folder, nameFor(server.origin)));
  }

  /** Loads the login for a server. Returns null if it is missing, damaged or unreadable. */
  loadUndamaged(server: URL): Login | null {
    try {
      return this.load(server);
    } catch (error) {
      if (error instanceof LoginDamaged) return null;
      throw error;
    }
  }

  /**
   * Returns the server with the most recent login, the default for commands without `--server`.
   * @throws LoginDamaged if every login is damaged
   */
  findLastServer(): URL | null {
    const kept: Login[] = [], damages: unknown[] = [];
    for (const name of listFiles(this.#folder)) {
      try {
        kept.push(...[this.#read(name)].filter((login) => login !== null));
      } catch (error) {
        damages.push(error);
      }
    }
    if (kept.length === 0 && damages.length > 0) throw damages[0];
    const last = kept.sort((a, b) => a.loggedInAt - b.loggedInAt).at(-1);
    return last === undefined ? null : new URL(last.server);
  }

  /** Replaces the stored login atomically: a crash leaves the old or the new file. Throws system errors. */
  save(login: Login): void {
    this.#make();
    const temporary = join(this.#folder, randomUUID());
    try {
      writeFileSync(temporary, JSON.stringify(login, null, 2), { mode: 0o600, flush: true });
      retryWhileHeld(() => renameSync(temporary, join(this.#folder, nameFor(login.server))));
    } catch (error) {
      retryWhileHeld(() => rmSync(temporary, { force: true }));
      throw error;
    }
  }

  /** Deletes the login for a server, valid or damaged. */
  remove(server: URL): void {
    retryWhileHeld(() => rmSync(join(this.#folder, nameFor(server.origin)), { force: true }));
  }

  /**
   * Runs `work` under a lock between the user's programs, per server, because a refresh token works only once. A lock
   * that a crashed program left expires after 30 seconds.
   * @throws system errors if the lock file cannot be created; errors from `work`
   */
  async withLock<T>(server: URL, work: () => Promise<T>): Promise<T> {
    this.#make();
    const path = join(this.#folder, nameFor(server.origin).replace(SUFFIX, ".lock")), mark = randomUUID();
    while (!tryLock(path, mark)) await delay(LOCK_RETRY_MS * (1 + Math.random()));
    try {
      return await work();
    } finally {
      if (readIfThere(path) === mark) retryWhileHeld(() => rmSync(path, { force: true }));
    }
  }

  #make(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  #read(name: string): Login | null {
    const path = join(this.#folder, name);
    let text: string | null;
    try {
      text = readIfThere(path);
    } catch (cause) {
      throw new LoginDamaged(`cannot read the login in ${path}: ${describeError(cause)}`, { cause });
    }
    if (text === null) return null;
    const login = parseLogin(text);
    if (login !== null) return login;
    throw new LoginDamaged(`the login in ${path} is damaged: log in again with portway --login`);
  }
}

const nameFor = (origin: string) => `${createHash("sha256").update(origin).digest("hex").slice(0, 32)}${SUFFIX}`;

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  } catch (error) {
    if (isCode(error, "ENOENT")) return [];
    throw error;
  }
}

function readIfThere(path: string): string | null {
  try {
    return retryWhileHeld(() => readFileSync(path, "utf8"));
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
}

/** Takes the lock. Removes a stale lock so that the next attempt succeeds. */
function tryLock(path: string, mark: string): boolean {
  try {
    // Windows rejects the name while a program still holds the deleted file open.
    retryWhileHeld(() => writeFileSync(path, mark, { flag: "wx", mode: 0o600 }));
    return true;
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  }
  const heldSince = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
  // A time in the future also counts, so that a clock set back cannot block the lock forever.
  if (Math.abs(Date.now() - heldSince) > STALE_LOCK_MS && heldSince !== Infinity) rmSync(path, { force: true });
  return false;
}

const isCode = (error: unknown, code: string) => error instanceof Error && "code" in error && error.code === code;

function parseLogin(text: string): Login | null {
  const { server, accessToken, refreshToken, expiresAt, loggedInAt } = asRecord(parseJsonOrNull(text));
  if (typeof server !== "string" || URL.parse(server)?.origin !== server || !isToken(accessToken)) return null;
  if (refreshToken !== null && !isToken(refreshToken)) return null;
  if ((expiresAt !== null && typeof expiresAt !== "number") || typeof loggedInAt !== "number") return null;
  return { server, accessToken, refreshToken, expiresAt, loggedInAt };
}
