export { type Authenticate, type Principal, requireScope, type Role, type Scope, SCOPES } from "./principal.ts";
