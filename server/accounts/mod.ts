export { type AccountsOptions, createAccounts } from "./accounts.ts";
export type {
  Accounts,
  Admin,
  AuthorizationRequest,
  AuthorizedClient,
  Clients,
  Consent,
  Entered,
  Entry,
  Invitation,
  Member,
  Members,
  SignUpForm,
  SignUpPolicy,
  TokenInfo,
  UserInfo,
} from "./types.ts";
