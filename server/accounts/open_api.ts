import { type ApiObject, type ApiPart, errorAnswer, jsonAnswerOf } from "../../common/open_api.ts";
import { SCOPES } from "../access/mod.ts";

const ACCOUNT: ApiObject = {
  type: "object",
  required: ["id", "name", "plan", "role"],
  properties: {
    id: { type: "string" },
    name: { type: "string" },
    plan: { enum: ["free", "paid"] },
    role: { enum: ["owner", "admin", "member"] },
  },
};

const WHOAMI: ApiObject = {
  type: "object",
  required: ["user", "account", "accounts", "scopes"],
  properties: {
    user: {
      type: "object",
      required: ["id", "name", "email", "isAdmin"],
      properties: {
        id: { type: "string" },
        name: { type: "string" },
        email: { type: "string" },
        isAdmin: { type: "boolean", description: "manages the whole server" },
      },
    },
    account: { $ref: "#/components/schemas/Account", description: "the one that the token or session works for" },
    accounts: { type: "array", items: { $ref: "#/components/schemas/Account" } },
    scopes: { type: "array", items: { enum: Object.keys(SCOPES) } },
  },
};

/** Any login will do: an OAuth access token, a personal token, or the session of a browser at HQ. */
const LOGIN = [{ accessToken: [] }, { session: [] }];

/** What the OpenAPI document says of accounts. */
export const ACCOUNTS_API: ApiPart = {
  tag: { name: "accounts", description: "who asks, and for which of their accounts" },
  paths: {
    "/api/v1/whoami": {
      get: {
        tags: ["accounts"],
        operationId: "whoami",
        summary: "Who the token or session stands for",
        security: LOGIN,
        responses: {
          200: jsonAnswerOf("Whoami", "who"),
          401: errorAnswer("nobody, or the token is unknown, expired or revoked"),
          403: errorAnswer("the user was suspended"),
        },
      },
    },
    "/api/v1/accounts/{id}/switch": {
      post: {
        tags: ["accounts"],
        operationId: "switchAccount",
        summary: "Work for another account from now on",
        description: "The login of the token, or the session, keeps it; personal tokens stay with their account.",
        security: LOGIN,
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        responses: {
          200: jsonAnswerOf("Whoami", "done"),
          401: errorAnswer("nobody, or the token is unknown, expired or revoked"),
          403: errorAnswer("a personal token, a foreign origin, or the user was suspended"),
          404: errorAnswer("the user is no member of such an account"),
        },
      },
    },
  },
  schemas: { Account: ACCOUNT, Whoami: WHOAMI },
  securitySchemes: {
    accessToken: {
      type: "http",
      scheme: "bearer",
      description: "of OAuth 2.1, for the client portway-cli, or a personal token; scopes: " +
        Object.keys(SCOPES).join(", "),
    },
    session: { type: "apiKey", in: "cookie", name: "session", description: "of a browser that signed in at HQ" },
  },
};
