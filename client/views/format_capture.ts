import { Buffer } from "node:buffer";
import { formatTime } from "../../common/format.ts";
import { pathBelowView } from "../../common/captures/replay_request.ts";
import { formatBody, makeHarmless } from "./format_body.ts";
import type { ShownBody } from "./capture_body.ts";
import type { CaptureRecord } from "./records.ts";

/** Terminal properties for a capture. */
export interface CaptureLook {
  color: boolean;
  /** Characters that fit on a line. */
  columns: number;
}

const MAX_RULE = 80;
const DIM = 2, BOLD = 1, CYAN = 36;

/** Formats a capture: a line with its time, then Request Details, Request Headers and Body Payload. */
export function formatCapture(capture: CaptureRecord, body: ShownBody, { color, columns }: CaptureLook): string[] {
  const paint = (code: number, text: string) => color ? `\x1b[${code}m${text}\x1b[0m` : text;
  const title = (text: string) => paint(BOLD, text);
  const payload = formatBody(body, capture.contentType);
  const encoding = body.decodedFrom === undefined ? "" : ` (decoded from ${body.decodedFrom})`;
  return [
    paint(CYAN, rule(formatTime(new Date(capture.receivedAt)), columns)),
    title("Request Details"),
    ...align([
      ["Host", capture.host],
      ["Method", capture.method],
      ["Path", pathBelowView(capture) || "/"],
      ["From", capture.address],
      ["Capture", capture.id],
    ]),
    "",
    title("Request Headers"),
    ...align(capture.headers.map(([name, value]) => [name, decodeUtf8(value)])),
    ...(payload.length === 0 ? [] : ["", title("Body Payload") + encoding, ...payload]),
    ...(payload.length === 0 && capture.bodySize === 0 ? ["", paint(DIM, "No body")] : []),
    "",
  ];
}

/** A line with a text in its middle. */
function rule(text: string, columns: number): string {
  const width = Math.max(0, Math.min(columns, MAX_RULE) - text.length - 2);
  const left = Math.floor(width / 2);
  return `${"─".repeat(left)} ${text} ${"─".repeat(width - left)}`;
}

/** Longest name in the alignment. */
const MAX_ALIGNED = 32;

function align(fields: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(MAX_ALIGNED, Math.max(0, ...fields.map(([name]) => name.length)));
  return fields.map(([name, value]) => `  ${makeHarmless(name).padEnd(width)}  ${makeHarmless(value)}`);
}

/** Decodes a value with one character a byte. Most values beyond ASCII are UTF-8. */
function decodeUtf8(value: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}
