import type { RequestHead } from "../../../net/http1/mod.ts";
import { encodeLatin1 } from "../../../net/http1/mod.ts";
import { type Edit, readValue } from "./addresses.ts";
import { findCoding } from "../../../net/body/content_encoding.ts";
import { restoreTags } from "./tags.ts";

/** The tunnel's public hosts for its other ports. */
export interface Origins {
  /** Returns the local origin behind another public host in this tunnel; otherwise null. */
  toLocal(host: string): string | null;
}

/**
 * Returns the changes that let a response be rewritten: unsupported content encodings are removed, entity tags become
 * the service's own, and requests from the tunnel's other ports name their local origin.
 * @param origins null if the service receives public addresses unchanged
 * @param restored receives each tag that became the service's own
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

/** The name's length rules out most fields. */
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

/** Returns the content encodings that this program can decode and encode again. */
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
