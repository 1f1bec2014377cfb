import { type AuthOptions, CLI_CLIENT_ID, CLI_CLIENT_NAME, loadAuthOptions } from "./auth_options.ts";

/**
 * The functions that this server uses from better-auth. Only the paths in `oauth_handler.ts` are reachable from
 * outside.
 */
export interface Auth {
  /**
   * Handles a request below `/api/auth/`. Refusals are responses.
   * @throws StoreUnavailable, and defects
   */
  handle(request: Request): Promise<Response>;
  /**
   * Hashes a password, which takes 32 MB and a tenth of a second. A few run concurrently. @throws HttpError 503 `busy`
   */
  hashPassword(password: string): Promise<string>;
  /** Stores a text for a limited time under a secret name, such as a link's token. */
  remember(name: string, value: string, seconds: number): Promise<void>;
  /** Returns the text that {@link remember} stored, once. Later calls return null. */
  recall(name: string): Promise<string | null>;
}

/** The limit when a session creates the first account for its user. */
const FIRST_ACCOUNT = 1;

/**
 * Loads better-auth on the first sign-in or login, which takes some tenths of a second.
 * @throws StoreUnavailable
 */
export async function openAuth(options: AuthOptions): Promise<Auth> {
  const { betterAuth } = await import("better-auth");
  const { identities } = options.store;
  const auth = betterAuth(
    await loadAuthOptions(options, async (userId) => {
      const [membership] = await identities.findMemberships(userId);
      if (membership !== undefined) return membership.accountId;
      // The user was removed from their only account.
      const accountName = (await identities.findUser(userId))?.name ?? "Account";
      const id = await identities.addAccount({ userId, accountName, plan: options.defaultPlan }, FIRST_ACCOUNT);
      return id ?? (await identities.findMemberships(userId))[0].accountId;
    }),
  );
  const { adapter, internalAdapter, password } = await auth.$context;
  await addCliClient(adapter);
  return {
    handle: (request) => auth.handler(request),
    hashPassword: (text) => password.hash(text),
    async remember(name, value, seconds) {
      const expiresAt = new Date(Date.now() + seconds * 1000);
      await internalAdapter.createVerificationValue({ identifier: name, value, expiresAt });
    },
    async recall(name) {
      return (await internalAdapter.consumeVerificationValue(name))?.value ?? null;
    },
  };
}

interface ClientStore {
  findOne(query: { model: string; where: { field: string; value: string }[] }): Promise<unknown>;
  create(query: { model: string; data: Record<string, unknown> }): Promise<unknown>;
}

/** Adds the command line's client. It is public, because a program that everyone can download keeps no secret. */
async function addCliClient(adapter: ClientStore): Promise<void> {
  const where = [{ field: "clientId", value: CLI_CLIENT_ID }];
  if (await adapter.findOne({ model: "oauthClient", where }) !== null) return;
  const now = new Date();
  try {
    await adapter.create({
      model: "oauthClient",
      data: {
        clientId: CLI_CLIENT_ID,
        name: CLI_CLIENT_NAME,
        applicationType: "native",
        tokenEndpointAuthMethod: "none",
        requirePKCE: true,
        redirectUris: ["http://localhost:7332/"],
        grantTypes: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        responseTypes: ["code"],
        createdAt: now,
        updatedAt: now,
      },
    });
  } catch (error) {
    // Another server on the same database was first.
    if (await adapter.findOne({ model: "oauthClient", where }) === null) throw error;
  }
}
