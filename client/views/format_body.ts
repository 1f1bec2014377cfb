import { formatBytes, printable } from "../../common/format.ts";
import { hexLines } from "../../common/readable/hex_lines.js";
import { readBody } from "../../common/readable/readable_body.js";
import type { ShownBody } from "./shown_body.ts";

/** What of a body is shown at most: the whole of it is in the browser. */
const MAX_LINES = 400;
const MAX_LINE = 2000;
const HEX_BYTES = 256;

/**
 * A body as lines for a terminal, none of which can steer it: JSON and XML indented, forms and parts by their fields, and
 * bytes that are no text in hexadecimal.
 */
export function formatBody({ bytes, isWhole, size }: ShownBody, contentType: string | null): string[] {
  const body = readBody(bytes, contentType, isWhole);
  switch (body.kind) {
    case "empty":
      return [];
    case "binary":
      return [
        ...hexLines(bytes.subarray(0, HEX_BYTES)),
        ...(bytes.length > HEX_BYTES || !isWhole ? [tellSize(size)] : []),
      ];
    case "form":
      return limit(body.fields.flatMap(([name, value]) => formatField(name, value.split("\n"))), size);
    case "multipart":
      return limit(body.parts.flatMap((part) => formatPart(part)), size);
    case "json":
    case "xml":
    case "text":
      return limit(body.text.replace(/\r?\n$/, "").split(/\r?\n/), isWhole ? 0 : size);
  }
}

interface Part {
  name: string;
  fileName: string | null;
  type: string | null;
  body: Uint8Array<ArrayBuffer>;
  isWhole: boolean;
}

function formatPart({ name, fileName, type, body, isWhole }: Part): string[] {
  if (fileName === null && (type === null || /^(?:text|application)\/(?:plain|json)\b/i.test(type))) {
    return formatField(name, formatBody({ bytes: body, isWhole, size: body.length }, type));
  }
  const about = [fileName === null ? null : `file "${fileName}"`, type, isWhole ? formatBytes(body.length) : "cut"];
  return [`${name}: ${about.filter((word) => word !== null).join(", ")}`];
}

/** A value of several lines is indented below its name. */
function formatField(name: string, lines: readonly string[]): string[] {
  return lines.length > 1 ? [`${name} =`, ...lines.map((line) => `  ${line}`)] : [`${name} = ${lines[0] ?? ""}`];
}

/** @param cutSize of all of the body, where not all of it is in the lines */
function limit(lines: readonly string[], cutSize: number | null): string[] {
  const shown = lines.slice(0, MAX_LINES).map(makeHarmless);
  const isLong = cutSize === null || cutSize > 256 * 1024;
  const isCut = lines.length > MAX_LINES || lines.some((line) => line.length > MAX_LINE) || isLong;
  return isCut ? [...shown, cutSize === 0 ? "…" : tellSize(cutSize)] : shown;
}

/** @param size of all of a body; null where nobody knows */
const tellSize = (size: number | null): string => size === null ? "… and more" : `… ${formatBytes(size)} in all`;

/** Text of strangers as one line of a terminal. */
export function makeHarmless(text: string): string {
  const line = printable(text.slice(0, MAX_LINE).replaceAll("\t", "  "));
  return text.length > MAX_LINE ? `${line}…` : line;
}
