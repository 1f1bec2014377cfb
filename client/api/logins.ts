import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { delay } from "../../common/delay.ts";
import { describeError } from "../../common/log.ts";
import { retryWhileHeld } from "../../common/platform/mod.ts";
import { asRecord, parseJsonOrNull } from "./api_error.ts";
import { type IssuedTokens, isToken } from "./oauth.ts";

/** A login as it is kept. */
export interface Login extends IssuedTokens {
  /** Origin of the server that gave it. */
  server: string;
  /** Unix milliseconds. */
  loggedInAt: number;
}

/** A login that is there and cannot be used. The message names its file and says what helps. */
class LoginDamaged extends Error {
  override name = "LoginDamaged";
}

/** No refresh takes so long: whoever holds a lock for longer has ended without giving it back. */
const STALE_LOCK_MS = 30_000;
const LOCK_RETRY_MS = 40;
const SUFFIX = ".json";

/** The logins of this user, a file each server that only they can read. */
export class Logins {
  readonly #folder: string;

  /** @param folder of the client's configuration; made when missing */
  constructor(folder: string) {
    this.#folder = join(folder, "logins");
  }

  /**
   * The login at a server; null for none.
   * @throws LoginDamaged
   */
  load(server: URL): Login | null {
    return this.#read(nameFor(server.origin));
  }

  /** Whether there is a login at a server, damaged or not. */
  has(server: URL): boolean {
    return existsSync(join(this.#folder, nameFor(server.origin)));
  }

  /** The login at a server; null for none, for a damaged one, and for one that cannot be read. */
  loadUndamaged(server: URL): Login | null {
    try {
      return this.load(server);
    } catch (error) {
      if (error instanceof LoginDamaged) return null;
      throw error;
    }
  }

  /**
   * The server that was logged in to last, for who names none.
   * @throws LoginDamaged when there is no other
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

  /** Keeps a login in place of the one before. A crash leaves the old file or the new one. Throws what the system says. */
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

  /** Forgets the login at a server, damaged or not. */
  remove(server: URL): void {
    retryWhileHeld(() => rmSync(join(this.#folder, nameFor(server.origin)), { force: true }));
  }

  /**
   * Does `work` while no other program of this user does the same for that server: a refresh token works once.
   * Waits half a minute at most, when another one has ended in the middle.
   * @throws the system's errors when there can be no file for the lock, and what the work throws
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

/** Takes a lock, or removes one whose holder is gone so that the next attempt takes it. */
function tryLock(path: string, mark: string): boolean {
  try {
    // Windows refuses a name for as long as somebody has the file open that had it.
    retryWhileHeld(() => writeFileSync(path, mark, { flag: "wx", mode: 0o600 }));
    return true;
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  }
  const heldSince = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
  // A clock that was set back must not lock anyone out.
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
