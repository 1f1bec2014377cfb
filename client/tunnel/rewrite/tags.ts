/**
 * Entity tags for rewritten responses. Their bytes differ from the service's, and can differ again after each
 * compression, so such a tag is weak. It is also marked, so that the service receives its own tag: `"abc"` becomes
 * `W/"abc-links"`. A weak tag does not describe bytes and stays unchanged.
 */

/** The service's tags that a request named in their marked form. */
export type RestoredTags = ReadonlySet<string>;

const MARK = "-links";

/** Returns the tag for the rewritten form. */
export function markTag(tag: string): string {
  return /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(tag) ? `W/${tag.slice(0, -1)}${MARK}"` : tag;
}

/**
 * Returns an If-Match or If-None-Match field with the service's own tags.
 * @param restored receives each tag that was marked
 */
export function restoreTags(field: string, restored: Set<string>): string {
  return field.replace(MARKED, (_whole, opaque: string) => {
    const tag = `"${opaque}"`;
    restored.add(tag);
    return tag;
  });
}

const MARKED = /W\/"([\x21\x23-\x7e\x80-\xff]*?)-links"/g;
