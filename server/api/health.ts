import { nothingHere } from "../../common/http_error.ts";
import { RELEASE } from "../../common/release.ts";
import type { Handler } from "../http/mod.ts";
import { sizedJson } from "./sized_json.ts";

/** Handles `/health`, from the start of the server on. @param read the members besides `version` */
export function createHealth(read: () => object): Handler {
  return {
    prefix: "/health",
    handle({ method, path }) {
      if (!/^\/health(?:\?|$)/.test(path)) return undefined;
      if (method !== "GET" && method !== "HEAD") throw nothingHere();
      return sizedJson(JSON.stringify({ status: "ok", version: RELEASE, ...read() }));
    },
  };
}
