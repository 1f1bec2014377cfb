import {
  ACCOUNT_SECURITY,
  type ApiObject,
  type ApiPart,
  jsonResponseOf,
  toErrorResponse,
} from "../../common/open_api.ts";
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

/** The OpenAPI part for accounts. */
export const ACCOUNTS_API: ApiPart = {
  tag: { name: "accounts", description: "who asks, and for which of their accounts" },
  paths: {
    "/api/v1/whoami": {
      get: {
        tags: ["accounts"],
        operationId: "whoami",
        summary: "Who the token or session stands for",
        security: ACCOUNT_SECURITY,
        responses: {
          200: jsonResponseOf("Whoami", "who"),
          401: toErrorResponse("nobody, or the token is unknown, expired or revoked"),
          403: toErrorResponse("the user was suspended"),
        },
      },
    },
    "/api/v1/accounts/{id}/switch": {
      post: {
        tags: ["accounts"],
        operationId: "switchAccount",
        summary: "Work for another account from now on",
        description: "The login of the token, or the session, keeps it; personal tokens stay with their account.",
        security: ACCOUNT_SECURITY,
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        responses: {
          200: jsonResponseOf("Whoami", "done"),
          401: toErrorResponse("nobody, or the token is unknown, expired or revoked"),
          403: toErrorResponse("a personal token, a foreign origin, or the user was suspended"),
          404: toErrorResponse("the user is no member of such an account"),
        },
      },
    },
  },
  schemas: { Account: ACCOUNT, Whoami: WHOAMI },
};
