import { type Answer, answerJson } from "./answer.ts";
import type { RequestDescription } from "./description.ts";
import type { FollowedAnswer } from "./follow.ts";
import type { ReadBody } from "./read_body.ts";
import { toBodyText } from "./text_or_base64.ts";

/** The whole answer of a target, described in JSON. */
export function jsonAnswer(
  followed: FollowedAnswer,
  body: ReadBody,
  totalMs: number,
  responseType: RequestDescription["responseType"],
): Answer {
  const { answer } = followed;
  const contentType = answer.headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  const description = {
    status: answer.status,
    statusText: answer.statusText,
    headers: answer.headers,
    ...toBodyText(body.bytes, contentType, responseType),
    finalUrl: followed.finalUrl,
    redirects: followed.redirects,
    timings: { ...roundedTimings(followed), totalMs: round(totalMs) },
    size: {
      headers: headerBytes(answer.headers),
      body: body.bytes.byteLength,
      transferred: body.wireBytes,
    },
  };
  return answerJson(description);
}

/** Milliseconds with at most two decimals. */
export function roundedTimings({ dnsMs, connectMs, firstByteMs }: FollowedAnswer): Record<string, number> {
  return { dnsMs: round(dnsMs), connectMs: round(connectMs), firstByteMs: round(firstByteMs) };
}

const round = (ms: number): number => Math.round(ms * 100) / 100;

/** Bytes of the header lines as HTTP/1.1 writes them: name, colon, space, value, line end. */
function headerBytes(headers: readonly (readonly [string, string])[]): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}
