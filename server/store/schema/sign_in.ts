import { type CreateTableBuilder, sql } from "kysely";
import type { Dialect, Migration } from "./types.ts";

/**
 * A time as better-auth stores it: a Date in PostgreSQL, ISO text in SQLite. Read it with `new Date(value)`, and
 * compare it in code, not in SQL.
 */
export type Moment = string | Date;
/** A boolean as better-auth stores it: a boolean in PostgreSQL, 0 or 1 in SQLite. Read it with `Boolean(value)`. */
export type Switch = boolean | number;
/** A list of texts as better-auth stores it: JSON, which PostgreSQL returns parsed. */
export type TextList = string | string[];

/** The better-auth tables and columns that this server accesses directly. Names are in camel case. */
export interface SignInTables {
  user: {
    id: string;
    name: string;
    email: string;
    emailVerified: Switch;
    createdAt: Moment;
    updatedAt: Moment;
    isAdmin: Switch;
    suspended: Switch;
  };
  /** Ways to sign in, here by password. */
  account: {
    id: string;
    accountId: string;
    providerId: string;
    userId: string;
    password: string | null;
    createdAt: Moment;
    updatedAt: Moment;
  };
  session: {
    id: string;
    token: string;
    userId: string;
    createdAt: Moment;
    expiresAt: Moment;
    ipAddress: string | null;
    userAgent: string | null;
    activeOrganizationId: string | null;
  };
  organization: { id: string; name: string; slug: string; createdAt: Moment; plan: string };
  member: { id: string; organizationId: string; userId: string; role: string; createdAt: Moment };
  invitation: {
    id: string;
    organizationId: string;
    email: string;
    role: string | null;
    status: string;
    expiresAt: Moment;
    createdAt: Moment;
    inviterId: string;
  };
  oauthClient: { id: string; clientId: string; name: string | null };
  oauthRefreshToken: Grant & {
    revoked: Moment | null;
    rotatedAt: Moment | null;
    rotationReplayExpiresAt: Moment | null;
  };
  oauthAccessToken: Omit<Grant, "userId"> & { userId: string | null };
  deviceCode: { id: string; deviceCode: string; userCode: string; lastPolledAt: Moment | null; expiresAt: Moment };
  verification: { id: string; expiresAt: Moment };
  oauthConsent: { id: string; clientId: string; userId: string | null; referenceId: string | null };
}

interface Grant {
  id: string;
  /** The SHA-256 hash, base64url. */
  token: string;
  clientId: string;
  userId: string;
  /** The account for which the grant is valid. */
  referenceId: string | null;
  /** Shared by all tokens of a login. */
  authorizationCodeId: string | null;
  scopes: TextList;
  createdAt: Moment;
  expiresAt: Moment;
}

/**
 * The tables for better-auth 1.7.5 with the plugins in use. Creating them here, instead of by better-auth's own
 * migrations, lets a server start without loading better-auth, and lets two servers start simultaneously. A test
 * compares them with better-auth's requirements.
 */
export const signIn: Migration = {
  name: "sign_in",
  async run(db, dialect) {
    for (const [table, columns] of Object.entries(TABLES)) {
      let builder = db.schema.createTable(table).addColumn("id", "text", (column) => column.notNull().primaryKey());
      for (const [name, kind] of Object.entries(columns)) builder = addColumn(builder, name, kind, dialect);
      await builder.execute();
    }
    for (const [table, columns, isUnique] of INDEXES) {
      const name = `${table}_${columns.join("_")}_${isUnique ? "uidx" : "idx"}`;
      const index = db.schema.createIndex(name).on(table).columns([...columns]);
      await (isUnique ? index.unique() : index).execute();
    }
  },
};

/** A column's type, with `!` for not null, `unique`, and `> table.column` for a reference. */
type Kind = string;

const TABLES: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  user: {
    name: "text !",
    email: "text ! unique",
    emailVerified: "switch !",
    image: "text",
    createdAt: "moment !",
    updatedAt: "moment !",
    isAdmin: "switch !",
    suspended: "switch !",
  },
  session: {
    expiresAt: "moment !",
    token: "text ! unique",
    createdAt: "moment !",
    updatedAt: "moment !",
    ipAddress: "text",
    userAgent: "text",
    userId: "text ! > user.id",
    activeOrganizationId: "text",
  },
  account: {
    accountId: "text !",
    providerId: "text !",
    userId: "text ! > user.id",
    accessToken: "text",
    refreshToken: "text",
    idToken: "text",
    accessTokenExpiresAt: "moment",
    refreshTokenExpiresAt: "moment",
    scope: "text",
    password: "text",
    createdAt: "moment !",
    updatedAt: "moment !",
  },
  verification: {
    identifier: "text !",
    value: "text !",
    expiresAt: "moment !",
    createdAt: "moment !",
    updatedAt: "moment !",
  },
  organization: {
    name: "text !",
    slug: "text ! unique",
    logo: "text",
    createdAt: "moment !",
    metadata: "text",
    plan: "text !",
  },
  member: {
    organizationId: "text ! > organization.id",
    userId: "text ! > user.id",
    role: "text !",
    createdAt: "moment !",
  },
  invitation: {
    organizationId: "text ! > organization.id",
    email: "text !",
    role: "text",
    status: "text !",
    expiresAt: "moment !",
    createdAt: "moment !",
    inviterId: "text ! > user.id",
  },
  jwks: {
    publicKey: "text !",
    privateKey: "text !",
    createdAt: "moment !",
    expiresAt: "moment",
    alg: "text",
    crv: "text",
  },
  oauthClient: {
    clientId: "text ! unique",
    clientSecret: "text",
    clientDiscoveryId: "text",
    disabled: "switch",
    skipConsent: "switch",
    enableEndSession: "switch",
    subjectType: "text",
    scopes: "json",
    clientCredentialsScopes: "json",
    userId: "text > user.id",
    createdAt: "moment",
    updatedAt: "moment",
    name: "text",
    uri: "text",
    icon: "text",
    contacts: "json",
    tos: "text",
    policy: "text",
    softwareId: "text",
    softwareVersion: "text",
    softwareStatement: "text",
    redirectUris: "json !",
    postLogoutRedirectUris: "json",
    backchannelLogoutUri: "text",
    backchannelLogoutSessionRequired: "switch",
    tokenEndpointAuthMethod: "text",
    applicationType: "text",
    jwks: "text",
    jwksUri: "text",
    grantTypes: "json",
    responseTypes: "json",
    requirePKCE: "switch",
    dpopBoundAccessTokens: "switch",
    referenceId: "text",
    metadata: "json",
  },
  oauthResource: {
    identifier: "text ! unique",
    name: "text !",
    accessTokenTtl: "number",
    refreshTokenTtl: "number",
    signingAlgorithm: "text",
    signingKeyId: "text",
    allowedScopes: "json",
    customClaims: "json",
    dpopBoundAccessTokensRequired: "switch",
    disabled: "switch",
    createdAt: "moment",
    updatedAt: "moment",
    policyVersion: "number",
    metadata: "json",
  },
  oauthClientResource: {
    clientId: "text ! > oauthClient.clientId",
    resourceId: "text ! > oauthResource.identifier",
    metadata: "json",
    createdAt: "moment",
  },
  oauthRefreshToken: {
    token: "text ! unique",
    clientId: "text ! > oauthClient.clientId",
    sessionId: "text ? session.id",
    userId: "text ! > user.id",
    referenceId: "text",
    authorizationCodeId: "text",
    resources: "json",
    requestedUserInfoClaims: "json",
    expiresAt: "moment !",
    createdAt: "moment !",
    revoked: "moment",
    rotatedAt: "moment",
    rotationReplayResponse: "text",
    rotationReplayExpiresAt: "moment",
    authTime: "moment",
    confirmation: "json",
    scopes: "json !",
  },
  oauthAccessToken: {
    token: "text ! unique",
    clientId: "text ! > oauthClient.clientId",
    sessionId: "text ? session.id",
    userId: "text > user.id",
    referenceId: "text",
    authorizationCodeId: "text",
    resources: "json",
    requestedUserInfoClaims: "json",
    refreshId: "text > oauthRefreshToken.id",
    expiresAt: "moment !",
    createdAt: "moment !",
    revoked: "moment",
    confirmation: "json",
    scopes: "json !",
  },
  oauthConsent: {
    clientId: "text ! > oauthClient.clientId",
    userId: "text > user.id",
    referenceId: "text",
    resources: "json",
    requestedUserInfoClaims: "json",
    scopes: "json !",
    createdAt: "moment !",
    updatedAt: "moment !",
  },
  oauthClientAssertion: { expiresAt: "moment !" },
  deviceCode: {
    deviceCode: "text !",
    userCode: "text !",
    userId: "text",
    expiresAt: "moment !",
    status: "text !",
    lastPolledAt: "moment",
    pollingInterval: "number",
    clientId: "text",
    scope: "text",
    resources: "json",
    oauthClientId: "text",
  },
};

const INDEXES: readonly (readonly [table: string, columns: readonly string[], isUnique?: true])[] = [
  ["session", ["userId"]],
  ["account", ["userId"]],
  ["verification", ["identifier"]],
  ["member", ["organizationId"]],
  ["member", ["userId"]],
  ["invitation", ["organizationId"]],
  ["invitation", ["email"]],
  ["oauthClient", ["userId"]],
  ["oauthClientResource", ["clientId"]],
  ["oauthClientResource", ["resourceId"]],
  ["oauthClientResource", ["clientId", "resourceId"], true],
  ["oauthRefreshToken", ["clientId"]],
  ["oauthRefreshToken", ["sessionId"]],
  ["oauthRefreshToken", ["userId"]],
  ["oauthRefreshToken", ["authorizationCodeId"]],
  ["oauthAccessToken", ["clientId"]],
  ["oauthAccessToken", ["sessionId"]],
  ["oauthAccessToken", ["userId"]],
  ["oauthAccessToken", ["authorizationCodeId"]],
  ["oauthAccessToken", ["refreshId"]],
  ["oauthConsent", ["clientId"]],
  ["oauthConsent", ["userId"]],
  ["deviceCode", ["deviceCode"], true],
  ["deviceCode", ["userCode"], true],
];

const TYPES = {
  sqlite: { text: "text", switch: "integer", number: "integer", moment: "date", json: "text" },
  postgres: { text: "text", switch: "boolean", number: "integer", moment: "timestamptz", json: "jsonb" },
} as const satisfies Record<Dialect, Record<string, string>>;

function addColumn(
  table: CreateTableBuilder<string, string>,
  name: string,
  kind: Kind,
  dialect: Dialect,
): CreateTableBuilder<string, string> {
  const [type] = kind.split(" ") as [keyof typeof TYPES.sqlite];
  // Deleting the referenced row deletes this one (`>`) or empties the column (`?`).
  const [, mark, target] = /([>?]) (\w+\.\w+)/.exec(kind) ?? [];
  return table.addColumn(name, sql.raw(TYPES[dialect][type]), (column) => {
    if (kind.includes("!")) column = column.notNull();
    if (kind.includes("unique")) column = column.unique();
    if (target === undefined) return column;
    return column.references(target).onDelete(mark === ">" ? "cascade" : "set null");
  });
}
