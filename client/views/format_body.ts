import { formatBytes, printable } from "../../common/format.ts";
import { hexLines } from "../../common/readable/hex_lines.js";
import { readBody } from "../../common/readable/readable_body.js";
import type { ShownBody } from "./capture_body.ts";

/** Display limits. The browser shows whole bodies. */
const MAX_LINES = 400;
const MAX_LINE = 2000;
const HEX_BYTES = 256;

/**
 * Formats a body for a terminal, without control sequences: indented JSON and XML, form fields and parts, or a hex
 * dump for binary data.
 */
export function formatBody({ bytes, isWhole, size }: ShownBody, contentType: string | null): string[] {
  const body = readBody(bytes, contentType, isWhole);
  switch (body.kind) {
    case "empty":
      return [];
    case "binary":
      return [
        ...hexLines(bytes.subarray(0, HEX_BYTES)),
        ...(bytes.length > HEX_BYTES || !isWhole ? [describeSize(size)] : []),
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

/** Indents a value with several lines below its name. */
function formatField(name: string, lines: readonly string[]): string[] {
  return lines.length > 1 ? [`${name} =`, ...lines.map((line) => `  ${line}`)] : [`${name} = ${lines[0] ?? ""}`];
}

/** @param cutSize the whole body's size when the lines do not contain all */
function limit(lines: readonly string[], cutSize: number | null): string[] {
  const shown = lines.slice(0, MAX_LINES).map(makeHarmless);
  const isLong = cutSize === null || cutSize > 256 * 1024;
  const isCut = lines.length > MAX_LINES || lines.some((line) => line.length > MAX_LINE) || isLong;
  return isCut ? [...shown, cutSize === 0 ? "…" : describeSize(cutSize)] : shown;
}

/** @param size the whole body's size; null when it is unknown */
const describeSize = (size: number | null): string => size === null ? "… and more" : `… ${formatBytes(size)} in all`;

/** Makes foreign text a harmless terminal line. */
export function makeHarmless(text: string): string {
  const line = printable(text.slice(0, MAX_LINE).replaceAll("\t", "  "));
  return text.length > MAX_LINE ? `${line}…` : line;
}
