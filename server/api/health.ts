import { nothingHere } from "../../common/http_error.ts";
import { RELEASE } from "../../common/release.ts";
import type { Handler } from "../http/mod.ts";
import { sizedJson } from "./sized_json.ts";

/** The server's state: it stores and serves, its storage fails, or it is shutting down. */
export type HealthStatus = "ok" | "storage_failed" | "draining";

/** The `/health` handler, and a way to announce the shutdown. */
export interface Health extends Handler {
  /** Reports `draining` from now on. */
  drain(): Promise<void>;
}

/**
 * Creates the `/health` handler, which responds from the server's first moment. The status code is 200 while the
 * process works. For monitors and balancers, `/health?ready` returns 503 while the status is not `ok`.
 * @param read returns the status, and figures for the response
 */
export function createHealth(read: () => { status: HealthStatus } & Record<string, unknown>): Health {
  let isDraining = false;
  return {
    prefix: "/health",
    handle({ method, path }) {
      const query = /^\/health(?:\?(.*))?$/.exec(path);
      if (query === null) return undefined;
      if (method !== "GET" && method !== "HEAD") throw nothingHere();
      const state = read(), status = isDraining ? "draining" : state.status;
      const isStrict = new URLSearchParams(query[1] ?? "").has("ready");
      const text = JSON.stringify({ ...state, status, version: RELEASE });
      return isStrict && status !== "ok" ? sizedJson(text, 503, { "retry-after": "5" }) : sizedJson(text);
    },
    drain() {
      isDraining = true;
      return Promise.resolve();
    },
  };
}
