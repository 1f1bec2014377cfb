/** Longest message that is taken unless the upgrade says otherwise: 16 MiB and some room. */
export const DEFAULT_MESSAGE_BYTES = 17 * 1024 * 1024;

/** RFC 6455, section 5.5.1: 125 bytes of a close frame, two of them the code. */
const MAX_REASON_BYTES = 123;

/**
 * The nearest close code that may be sent (RFC 6455, section 7.4): 1005, 1006 and 1015 never are.
 * @returns undefined for a close frame without a code, which is what 1005 stands for
 */
export function sendableCode(code = NO_CODE): number | undefined {
  if (code === NO_CODE) return undefined;
  if (code >= 3000 && code <= 4999) return code;
  const isDefined = code >= 1000 && code <= 1014 && code !== 1004 && code !== 1006;
  return isDefined ? code : 1011;
}

const NO_CODE = 1005;

/** A reason that fits into a close frame; cut between characters. */
export function clipReason(reason = ""): string {
  const room = new Uint8Array(MAX_REASON_BYTES);
  const { read } = new TextEncoder().encodeInto(reason, room);
  return reason.slice(0, read);
}
