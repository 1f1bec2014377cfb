export { type Ended, OpenStreams } from "./ended.ts";
export { isHarmless, requireOwnOrigin } from "./own_origin.ts";
export {
  type Authenticate,
  type Plan,
  type Principal,
  requireLogin,
  requireScope,
  type Role,
  type Scope,
  SCOPES,
} from "./principal.ts";
