import type { FetchInfo } from "../../../common/fetch_target.ts";
import { HttpError } from "../../../common/http_error.ts";

/** Every name that the share goes by for this visitor. */
export function listOwnHosts(request: Request, { publicHost }: FetchInfo): (string | null | undefined)[] {
  return [publicHost, request.headers.get("host"), request.headers.get("x-forwarded-host")];
}

/**
 * Refuses what another site made a browser send: without a passphrase nothing else tells it from a visitor.
 * @throws HttpError 403
 */
export function checkOrigin(request: Request, info: FetchInfo): void {
  const origin = request.headers.get("origin");
  if (origin === null) return;
  const host = URL.canParse(origin) ? new URL(origin).host : null;
  if (host === null || !listOwnHosts(request, info).includes(host)) {
    throw new HttpError(403, "foreign_origin", "Another site may not change what is shared here.");
  }
}
