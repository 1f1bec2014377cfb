export { type ApiClient, type ApiClientOptions, createApiClient, type StreamOptions } from "./api_client.ts";
export {
  ApiRefused,
  ApiUnreachable,
  asRecord,
  explainCallFailure,
  LoginNeeded,
  notPortway,
  parseJsonOrNull,
  parseRefusal,
} from "./api_error.ts";
export {
  call,
  type CallLimits,
  type HttpCall,
  type HttpStream,
  openStream,
  readField,
  type UpgradedCall,
} from "./http_call.ts";
export { type Login, Logins } from "./logins.ts";
export {
  CLIENT_ID,
  discoverOAuth,
  type IssuedTokens,
  isToken,
  type OAuthEndpoints,
  OAuthRefused,
  postForm,
  requestTokens,
} from "./oauth.ts";
export { createFixedTokens, createStoredTokens, type StoredTokensOptions, type TokenSource } from "./tokens.ts";
