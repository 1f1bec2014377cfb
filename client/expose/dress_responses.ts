import type { FetchTarget } from "../../common/fetch_target.ts";

/** What `--cors` and `--header` add to the answers of a share or a site. */
export interface DressOptions {
  /** Let pages of other sites read the answers, and send every method that the target takes. */
  cors: boolean;
  /** Fields of every answer; they replace those of the same name. */
  headers: readonly (readonly [name: string, value: string])[];
}

/** How long a browser need not ask again, in seconds. */
const PREFLIGHT_SECONDS = "7200";

/** Puts fields on every answer of a target. The target itself when there are none to put. */
export function dressResponses(target: FetchTarget, { cors, headers }: DressOptions): FetchTarget {
  if (!cors && headers.length === 0) return target;
  return {
    async fetch(request, info) {
      const isPreflight = cors && request.method === "OPTIONS" &&
        request.headers.has("origin") && request.headers.has("access-control-request-method");
      // A browser asks without a passphrase, and what it asks tells nothing of the target.
      const answer = isPreflight ? answerPreflight(request) : await target.fetch(request, info);
      // Some answers are made by the runtime and cannot be changed, so all are made anew.
      const dressed = new Headers(answer.headers);
      if (cors) {
        dressed.set("access-control-allow-origin", "*");
        // All but those that each browser shows anyway; `*` would leave out Authorization alone.
        dressed.set("access-control-expose-headers", "*");
      }
      for (const [name, value] of headers) dressed.set(name, value);
      return new Response(answer.body, { status: answer.status, headers: dressed });
    },
    close: () => target.close(),
  };
}

function answerPreflight(request: Request): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": request.headers.get("access-control-request-method") ?? "",
      "access-control-allow-headers": request.headers.get("access-control-request-headers") ?? "",
      "access-control-max-age": PREFLIGHT_SECONDS,
      "vary": "access-control-request-method, access-control-request-headers",
    },
  });
}
