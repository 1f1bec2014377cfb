import type { FetchTarget } from "../../common/fetch_target.ts";

/** Fields that `--cors` and `--header` add to responses of a share or site. */
export interface DressOptions {
  /** Lets pages of other sites read responses and use every method. */
  cors: boolean;
  /** Fields for every response; they replace fields with the same name. */
  headers: readonly (readonly [name: string, value: string])[];
}

/** Lifetime of a preflight response in a browser's cache, in seconds. */
const PREFLIGHT_SECONDS = "7200";

/** Adds fields to every response of a target. Returns the target itself without any. */
export function dressResponses(target: FetchTarget, { cors, headers }: DressOptions): FetchTarget {
  if (!cors && headers.length === 0) return target;
  return {
    async fetch(request, info) {
      const isPreflight = cors && request.method === "OPTIONS" &&
        request.headers.has("origin") && request.headers.has("access-control-request-method");
      // Browsers send preflights without a passphrase, and the response reveals no content.
      const answer = isPreflight ? answerPreflight(request) : await target.fetch(request, info);
      // Responses made by the runtime cannot be changed, so all are copied.
      const dressed = new Headers(answer.headers);
      if (cors) {
        dressed.set("access-control-allow-origin", "*");
        // Lists all fields except those that browsers always expose; `*` would exclude Authorization only.
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
