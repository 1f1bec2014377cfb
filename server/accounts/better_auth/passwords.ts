import type { BetterAuthOptions } from "better-auth";
import { z } from "zod";
import { HttpError } from "../../../common/http_error.ts";

type Passwords = NonNullable<NonNullable<BetterAuthOptions["emailAndPassword"]>["password"]>;
type Plugin = NonNullable<BetterAuthOptions["plugins"]>[number];

/** The path of the sign-in by password, below `/api/auth`. */
export const SIGN_IN_PATH = "/portway/sign-in";
const WRONG_CREDENTIALS = "INVALID_EMAIL_OR_PASSWORD";

/** Each hash takes 32 MB and a tenth of a second of a processor: strangers must not have many made at once. */
const HASHES = { atATime: 2, waiting: 64 };

/** Hashing and checking passwords for better-auth. */
export async function loadPasswords(): Promise<Passwords> {
  const { hashPassword, verifyPassword } = await import("better-auth/crypto");
  const turns = new Turns(HASHES);
  return {
    hash: (password) => turns.run(() => hashPassword(password)),
    verify: (pair) => turns.run(() => verifyPassword(pair)),
  };
}

/**
 * Signs in by password. Better-auth's own endpoint refuses addresses without a dot in their domain, which servers in a
 * local network have. A client's login continues from here as from that endpoint, by `oauth_query`.
 */
export async function loadPasswordSignIn(): Promise<Plugin> {
  const [{ APIError, createAuthEndpoint }, { setSessionCookie }] = await Promise.all([
    import("better-auth/api"),
    import("better-auth/cookies"),
  ]);
  const body = z.object({ email: z.string(), password: z.string(), oauth_query: z.string().optional() });
  const signIn = createAuthEndpoint(SIGN_IN_PATH, { method: "POST", body }, async (context) => {
    const { internalAdapter, password: passwords } = context.context;
    const { email, password } = context.body;
    const found = await internalAdapter.findUserByEmail(email, { includeAccounts: true });
    const hash = found?.accounts.find(({ providerId }) => providerId === "credential")?.password;
    // An unknown address takes as long as a wrong password.
    const isRight = hash ? await passwords.verify({ hash, password }) : await passwords.hash(password) === null;
    if (found === null || !isRight) throw new APIError("UNAUTHORIZED", { code: WRONG_CREDENTIALS });
    const session = await internalAdapter.createSession(found.user.id);
    await setSessionCookie(context, { session, user: found.user });
    return context.json({ token: session.token });
  });
  return { id: "portway", endpoints: { signIn } };
}

/** Bounds of {@link Turns}, both in numbers of calls. */
export interface TurnsOptions {
  /** What runs at a time. */
  atATime: number;
  /** Who may wait; more are refused. */
  waiting: number;
}

/** Lets costly work run a few at a time, in the order in which it came. */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Runs `work` when it is its turn. @throws HttpError 503 `busy`, and what the work throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { atATime, waiting } = this.#options;
    if (this.#running >= atATime) {
      if (this.#queue.length >= waiting) throw busy();
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      // Whoever waits takes this place over.
      const next = this.#queue.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

const busy = (): HttpError =>
  new HttpError(503, "busy", "Too many people sign in at this moment.", { headers: { "retry-after": "5" } });
