import type { Stats } from "node:fs";

/**
 * Strong entity tag of a file (RFC 9110, section 8.8.3): which file it is, how long, and when it was last written.
 * A replaced file is another inode, so it differs even within one tick of the clock.
 */
export function createEntityTag(stat: Pick<Stats, "ino" | "size" | "mtimeMs">): string {
  return `"${stat.ino.toString(36)}-${stat.size.toString(36)}-${Math.trunc(stat.mtimeMs * 1000).toString(36)}"`;
}

/** Entity tags of an If-Match or If-None-Match field, `*` for any; null when the field is malformed. */
export function parseEntityTags(field: string): readonly string[] | "*" | null {
  const text = field.trim();
  if (text === "*") return "*";
  const tags: string[] = [];
  let rest = text;
  while (rest !== "") {
    const found = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/.exec(rest)?.[0];
    if (found === undefined) return null;
    tags.push(found);
    const separator = /^[ \t]*(?:,[ \t]*)+/.exec(rest.slice(found.length))?.[0] ?? "";
    rest = rest.slice(found.length + separator.length);
    if (rest !== "" && separator === "") return null;
  }
  return tags.length === 0 ? null : tags;
}

/** Whether the tags hold `tag` when compared strongly: weak ones never match. */
export function hasStrongMatch(tags: readonly string[], tag: string): boolean {
  return !tag.startsWith("W/") && tags.includes(tag);
}

/** Whether the tags hold `tag` when compared weakly. */
export function hasWeakMatch(tags: readonly string[], tag: string): boolean {
  const opaque = stripWeak(tag);
  return tags.some((other) => stripWeak(other) === opaque);
}

function stripWeak(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
