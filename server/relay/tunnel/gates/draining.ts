import { serverRestarting } from "../../../../common/http_error.ts";
import type { Check } from "../endpoint.ts";

/** Refuses visitors while the server drains. Sessions stay open for the requests in flight. */
export function drainingGate(): Check {
  return { admit: serverRestarting };
}
