import type { BetterAuthOptions } from "better-auth";
import { z } from "zod";
import { HttpError } from "../../../common/http_error.ts";

type Passwords = NonNullable<NonNullable<BetterAuthOptions["emailAndPassword"]>["password"]>;
type Plugin = NonNullable<BetterAuthOptions["plugins"]>[number];

/** The path for signing in by password, below `/api/auth`. */
export const SIGN_IN_PATH = "/portway/sign-in";
const WRONG_CREDENTIALS = "INVALID_EMAIL_OR_PASSWORD";

/** One hash takes 32 MB and a tenth of a second on one processor, so clients must not start many concurrently. */
const HASHES = { atATime: 2, waiting: 64 };

/** Loads the functions that hash and check passwords for better-auth. */
export async function loadPasswords(): Promise<Passwords> {
  const { hashPassword, verifyPassword } = await import("better-auth/crypto");
  const turns = new Turns(HASHES);
  return {
    hash: (password) => turns.run(() => hashPassword(password)),
    verify: (pair) => turns.run(() => verifyPassword(pair)),
  };
}

/**
 * Loads the endpoint for signing in by password. Better-auth's own endpoint refuses addresses without a dot in their
 * domain, which local networks use. A client's login continues from this endpoint through `oauth_query`, as from the
 * original.
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

/** Limits for {@link Turns}, both in calls. */
export interface TurnsOptions {
  /** Calls that run concurrently. */
  atATime: number;
  /** Calls that may wait; more are refused. */
  waiting: number;
}

/** Limits how many expensive calls run concurrently. Waiting calls run in their order. */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Runs `work` once a slot is free. @throws HttpError 503 `busy`, and errors from `work` */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { atATime, waiting } = this.#options;
    if (this.#running >= atATime) {
      if (this.#queue.length >= waiting) throw busy();
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      // The next waiting call takes over this slot.
      const next = this.#queue.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

const busy = (): HttpError =>
  new HttpError(503, "busy", "Too many sign-ins are running.", { headers: { "retry-after": "5" } });
