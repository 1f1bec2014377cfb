import type { RequestHead } from "../../../net/http1/mod.ts";
import { encodeLatin1 } from "../../../net/http1/mod.ts";
import { type Edit, readValue } from "./addresses.ts";
import { findCoding } from "../../../net/body/content_encoding.ts";
import { restoreTags } from "./tags.ts";

/** The public hosts of a tunnel, as its other ports' requests name them. */
export interface Origins {
  /** The local origin behind a public host of this tunnel other than the request's own; null for all else. */
  toLocal(host: string): string | null;
}

/**
 * What must change in a request so that its answer can be rewritten, and so that the service knows what it is told:
 * codings that we cannot take off are not asked for, tags are its own, and what another port of the tunnel sends says so
 * by its local origin.
 * @param origins null when the service sees public addresses as they are
 * @param restored takes each tag that became the service's own
 */
export function editRequest(head: RequestHead, origins: Origins | null, restored: Set<string>): Edit[] {
  const edits: Edit[] = [];
  for (let field = 0; field < head.fieldCount; field++) {
    const change = findChange(head, field, origins, restored);
    if (change === null) continue;
    const value = head.value(field), changed = change(value);
    if (changed !== value) edits.push({ ...readValue(head, field), bytes: encodeLatin1(changed) });
  }
  return edits;
}

type Change = (value: string) => string;

/** The length of a name tells most fields apart. */
function findChange(
  head: RequestHead,
  field: number,
  origins: Origins | null,
  restored: Set<string>,
): Change | null {
  switch (head.nameEnd(field) - head.nameStart(field)) {
    case "origin".length:
      if (origins !== null && head.isNamed(field, "origin")) return (value) => localize(value, origins);
      return null;
    case "referer".length:
      if (origins !== null && head.isNamed(field, "referer")) return (value) => localize(value, origins);
      return null;
    case "if-match".length:
      return head.isNamed(field, "if-match") ? (value) => restoreTags(value, restored) : null;
    case "if-none-match".length:
      return head.isNamed(field, "if-none-match") ? (value) => restoreTags(value, restored) : null;
    case "accept-encoding".length:
      return head.isNamed(field, "accept-encoding") ? narrowCodings : null;
    default:
      return null;
  }
}

/** Leaves the codings that can be taken off and put on again. */
function narrowCodings(value: string): string {
  const items = value.split(",");
  const kept = items.filter((item) => {
    const name = item.split(";", 1)[0].trim().toLowerCase();
    return name === "" || name === "identity" || findCoding(name) !== null;
  });
  if (kept.length === items.length) return value;
  return kept.join(",").trim() || "identity";
}

function localize(url: string, origins: Origins): string {
  return url.replace(/^https?:\/\/([^/?#]+)/i, (whole, host: string) => origins.toLocal(host.toLowerCase()) ?? whole);
}
