import { HttpError } from "../../common/http_error.ts";
import { ResetReason } from "../../protocol/mod.ts";
import { startOfNextMonth } from "./calendar.ts";

// Tunnel errors for visitors and clients.

/** 404 `tunnel_not_found`: no tunnel has this name. */
export const noSuchTunnel = (): HttpError =>
  new HttpError(404, "tunnel_not_found", "There is no tunnel at this address.", {
    details: "It may have been removed, or the address has a typing error.",
  });

/** 410 `tunnel_expired`: an ephemeral tunnel's lifetime is over. */
export const tunnelExpired = (): HttpError =>
  new HttpError(410, "tunnel_expired", "This tunnel has expired.", {
    details: "Ephemeral tunnels live for a limited time. Its owner can open a new one.",
  });

/** 410 `tunnel_traffic_exhausted`: an ephemeral tunnel has carried its limit. */
export const tunnelExhausted = (): HttpError =>
  new HttpError(410, "tunnel_traffic_exhausted", "The traffic of this tunnel is used up.", {
    details: "Ephemeral tunnels carry a limited amount of data. Its owner can open a new one.",
  });

/** 503 `tunnel_offline` with a retry after 5 seconds: no client carries the tunnel. */
export const tunnelOffline = (): HttpError =>
  new HttpError(503, "tunnel_offline", "The tunnel exists, but its client is not connected.", {
    details: "It usually comes back within a few seconds. Try again.",
    headers: { "retry-after": "5" },
  });

/** 503 `too_many_requests_at_a_time`: the session has reached its limit for open requests. */
export const tooManyStreams = (): HttpError =>
  new HttpError(503, "too_many_requests_at_a_time", "This tunnel has too many open requests.", {
    headers: { "retry-after": "1" },
  });

/** 503 `too_many_connections` with a retry after 1 second. */
export const tooManyConnections = (): HttpError =>
  new HttpError(503, "too_many_connections", "This server has too many connections.", {
    headers: { "retry-after": "1" },
  });

/** 429 `too_many_requests`: one visitor over HTTP/2 or behind a trusted proxy has too many requests open. */
export const tooManyOfVisitor = (): HttpError =>
  new HttpError(429, "too_many_requests", "This address has too many open requests.", {
    headers: { "retry-after": "1" },
  });

/** 431 `head_too_large`: the head is larger than a session can carry. */
export const headTooLarge = (): HttpError =>
  new HttpError(431, "head_too_large", "The request's line and headers are too large.");

/** 502 `bad_answer`. @param details the reason, as a sentence */
export const badResponse = (details: string): HttpError =>
  new HttpError(502, "bad_answer", "The local service sent a response that cannot be forwarded.", { details });

/** Returns the error for a stream that was reset before its response. @param text the client's text for visitors */
export function fromReset(reason: ResetReason, text: string): HttpError {
  const details = text === "" ? undefined : text;
  switch (reason) {
    case ResetReason.refused:
      return new HttpError(502, "service_unreachable", "The local service cannot be reached.", { details });
    case ResetReason.notHttp:
      return new HttpError(502, "service_not_http", "The local service's response cannot be read as HTTP/1.1.", {
        details,
      });
    case ResetReason.idle:
      return new HttpError(504, "service_timeout", "The local service took too long to respond.", { details });
    case ResetReason.sessionLost:
      return tunnelOffline();
    case ResetReason.limit:
      return tooManyStreams();
    case ResetReason.forbidden:
      return new HttpError(403, "port_not_allowed", "The tunnel does not allow this port.", { details });
    case ResetReason.none:
    case ResetReason.cancelled:
    case ResetReason.broken:
    case ResetReason.internal:
      return new HttpError(502, "service_broke_off", "The local service closed the connection before it responded.", {
        details,
      });
  }
}

/** 403 `tunnel_disabled`: its owner switched it off. */
export const tunnelDisabled = (): HttpError =>
  new HttpError(403, "tunnel_disabled", "This tunnel is switched off.", { details: "Its owner can switch it on." });

/** 403 `tunnel_suspended`: an admin suspended it. */
export const tunnelSuspended = (): HttpError =>
  new HttpError(403, "tunnel_suspended", "The operator of this server suspended this tunnel.");

/** 403 `port_not_allowed`: the tunnel does not allow the port in the host. */
export const portNotAllowed = (port: number): HttpError =>
  new HttpError(403, "port_not_allowed", `This tunnel does not allow port ${port}.`, {
    details: "Its owner chooses the allowed ports.",
  });

/** 403 `plan_required`: the account's plan has no persistent tunnels. */
export const planRequired = (): HttpError =>
  new HttpError(403, "plan_required", "Persistent tunnels need a paid account.", {
    details: "Ephemeral tunnels need no account.",
  });

/** 429 `allowance_exhausted`: the user's traffic for the month is used up. @param now Unix milliseconds */
export function allowanceExhausted(now: number): HttpError {
  const resetsAt = startOfNextMonth(now);
  return new HttpError(429, "allowance_exhausted", "The tunnel's owner has used up this month's traffic.", {
    details: `The next month begins on ${new Date(resetsAt).toISOString().slice(0, 10)} (UTC).`,
    headers: { "retry-after": String(Math.ceil((resetsAt - now) / 1000)) },
  });
}
