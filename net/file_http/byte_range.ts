/** A part of a file; both ends are included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Reads a Range field for a file of `size` bytes (RFC 9110, section 14.2).
 * Returns null when the whole file is to be sent: no field, another unit, a malformed one or several ranges, which
 * a server may ignore. Returns "unsatisfiable" when the answer is 416.
 */
export function parseByteRange(field: string | null, size: number): ByteRange | "unsatisfiable" | null {
  const match = /^bytes[ \t]*=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(field ?? "");
  if (match === null || (match[1] === "" && match[2] === "")) return null;
  if (match[1] === "") return createSuffix(Number(match[2]), size);
  const start = Number(match[1]);
  const last = match[2] === "" ? Infinity : Number(match[2]);
  if (last < start) return null;
  return start >= size ? "unsatisfiable" : { start, end: Math.min(last, size - 1) };
}

function createSuffix(length: number, size: number): ByteRange | "unsatisfiable" {
  if (length === 0 || size === 0) return "unsatisfiable";
  return { start: Math.max(0, size - length), end: size - 1 };
}

/** What a Content-Range field of a request says is sent (RFC 9110, section 14.5). */
export interface ContentRange extends ByteRange {
  /** Length of the whole, in bytes. */
  total: number;
}

/** Reads the Content-Range of a partial PUT; null when it is malformed, contradicts itself or leaves the total open. */
export function parseContentRange(field: string): ContentRange | null {
  const match = /^bytes[ \t]+(\d{1,15})-(\d{1,15})\/(\d{1,15})$/i.exec(field.trim());
  if (match === null) return null;
  const [start, end, total] = match.slice(1).map(Number);
  return start <= end && end < total ? { start, end, total } : null;
}
