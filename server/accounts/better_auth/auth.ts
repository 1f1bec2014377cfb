import type { Plan } from "../../access/mod.ts";
import { type AuthOptions, loadAuthOptions } from "./auth_options.ts";
import { CLI_CLIENT_ID, CLI_CLIENT_NAME } from "./cli_client.ts";

/** Better-auth as we use it. Nothing of it is reached from outside but what `oauth_face.ts` lets through. */
export interface Auth {
  /**
   * Answers a request below `/api/auth/`.
   * @throws what is no refusal: StoreUnavailable, a defect
   */
  handle(request: Request): Promise<Response>;
  /** Makes a user with a password. Null when the address is in use. */
  createUser(user: NewUser): Promise<{ id: string } | null>;
  /** Changes what is given, and leaves the rest. */
  setUser(id: string, values: { isAdmin?: boolean; suspended?: boolean }): Promise<void>;
  /** Makes an account that a user owns. */
  createAccount(userId: string, name: string): Promise<{ id: string; plan: Plan }>;
  /** Keeps a text for some time, for whoever knows the name: the token of a link, say. */
  remember(name: string, value: string, seconds: number): Promise<void>;
  /** What {@link remember} kept, once. */
  recall(name: string): Promise<string | null>;
}

/** A user that the server makes itself, without a sign-up. */
export interface NewUser {
  name: string;
  /** In lower case. */
  email: string;
  password: string;
  isAdmin: boolean;
}

/**
 * Loads better-auth, which takes some tenths of a second: only once somebody signs in or logs in.
 * @throws StoreUnavailable
 */
export async function openAuth(options: AuthOptions): Promise<Auth> {
  const { betterAuth } = await import("better-auth");
  const { identities } = options.store;
  const auth = betterAuth(
    await loadAuthOptions(options, async (userId) => {
      const [membership] = await identities.findMemberships(userId);
      if (membership !== undefined) return membership.accountId;
      return (await createAccount(userId, (await identities.findUser(userId))?.name ?? "Account")).id;
    }),
  );
  const { adapter, internalAdapter, password } = await auth.$context;
  await addCliClient(adapter);

  async function createAccount(userId: string, name: string): Promise<{ id: string; plan: Plan }> {
    const createdAt = new Date(), plan = options.defaultPlan;
    const { id } = await adapter.create<{ id: string }>({
      model: "organization",
      data: { name, slug: crypto.randomUUID(), createdAt, plan },
    });
    await adapter.create({ model: "member", data: { organizationId: id, userId, role: "owner", createdAt } });
    return { id, plan };
  }

  return {
    handle: (request) => auth.handler(request),
    async createUser({ name, email, isAdmin, ...user }) {
      if (await internalAdapter.findUserByEmail(email) !== null) return null;
      const hash = await password.hash(user.password);
      const source = { method: "email-password" };
      const { id } = await internalAdapter.createUser({ name, email, emailVerified: false, isAdmin }, source);
      await internalAdapter.linkAccount({ userId: id, providerId: "credential", accountId: id, password: hash });
      return { id };
    },
    async setUser(id, values) {
      await internalAdapter.updateUser(id, values);
    },
    createAccount,
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

/** The command line's client: public, as a program in everybody's hands keeps no secret. */
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
