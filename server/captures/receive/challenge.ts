import { createHmac } from "node:crypto";
import type { CallValues } from "./call_values.ts";

/** Providers that verify a webhook URL by a challenge. */
export const CHALLENGES = ["dropbox", "meta", "microsoft", "slack", "zoom"] as const;

/** A name from {@link CHALLENGES}. */
export type Challenge = typeof CHALLENGES[number];

/** The response to a challenge. */
export interface ChallengeResponse {
  status: number;
  contentType: string;
  body: string;
}

const TEXT = "text/plain; charset=utf-8";
/** Characters in a challenge. */
const MAX_CHALLENGE = 2000;

/** Whether a stored text names a provider. */
export function isChallenge(text: string | null): text is Challenge {
  return CHALLENGES.some((one) => one === text);
}

/**
 * Responds to a provider's verification challenge.
 * @param secret Zoom's secret token or Meta's verify token; null if not configured
 * @returns null for any other call
 */
export function respondToChallenge(
  provider: Challenge,
  call: CallValues,
  secret: string | null,
): ChallengeResponse | null {
  const challenge = findChallenge(provider, call);
  if (challenge === null || challenge.length > MAX_CHALLENGE) return null;
  if (provider === "zoom") return signForZoom(challenge, secret ?? "");
  const isRefused = provider === "meta" && secret !== null && call.query("hub.verify_token") !== secret;
  if (isRefused) return { status: 403, contentType: TEXT, body: "The verify token differs from the view's secret.\n" };
  return { status: 200, contentType: TEXT, body: challenge };
}

function findChallenge(provider: Challenge, call: CallValues): string | null {
  switch (provider) {
    case "dropbox":
      return call.method === "GET" ? call.query("challenge") : null;
    case "meta":
      return call.method === "GET" && call.query("hub.mode") === "subscribe" ? call.query("hub.challenge") : null;
    case "microsoft":
      return call.query("validationToken");
    case "slack":
      return call.json("type") === "url_verification" ? call.json("challenge") : null;
    case "zoom":
      return call.json("event") === "endpoint.url_validation" ? call.json("payload.plainToken") : null;
  }
}

/** Signs the token as Zoom requires: https://developers.zoom.us/docs/api/webhooks/#validate-your-webhook-endpoint */
function signForZoom(plainToken: string, secret: string): ChallengeResponse {
  const encryptedToken = createHmac("sha256", secret).update(plainToken).digest("hex");
  return { status: 200, contentType: "application/json", body: JSON.stringify({ plainToken, encryptedToken }) };
}
