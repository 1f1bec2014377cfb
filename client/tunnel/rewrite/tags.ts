/**
 * Entity tags of rewritten answers. Their bytes are not the service's, and may differ from one time to the next where
 * they are coded again, so such a tag is weak; and marked, so that the service gets its own back: `"abc"` becomes
 * `W/"abc-links"`. A weak one says nothing of bytes, and stays as it is.
 */

/** Tags of the service that a request named by their marked form. */
export type RestoredTags = ReadonlySet<string>;

const MARK = "-links";

/** The tag of the rewritten form of what `tag` is of. */
export function markTag(tag: string): string {
  return /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(tag) ? `W/${tag.slice(0, -1)}${MARK}"` : tag;
}

/**
 * An If-Match or If-None-Match field with the service's own tags.
 * @param restored takes each that was marked
 */
export function restoreTags(field: string, restored: Set<string>): string {
  return field.replace(MARKED, (_whole, opaque: string) => {
    const tag = `"${opaque}"`;
    restored.add(tag);
    return tag;
  });
}

const MARKED = /W\/"([\x21\x23-\x7e\x80-\xff]*?)-links"/g;
