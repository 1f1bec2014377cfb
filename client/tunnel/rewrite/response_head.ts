import { decodeLatin1, encodeLatin1 } from "../../../net/http1/mod.ts";
import type { Links } from "./links.ts";
import { isEventStream, isRewritable } from "./media_type.ts";
import { rewritePolicy } from "./policy.ts";
import { type ContentEncoding, findCoding } from "../../../net/body/content_encoding.ts";
import { markTag, type RestoredTags } from "./tags.ts";

/** A parsed head as it travels (reason phrase, CRLF, field lines) that can be changed. */
export class RewrittenHead {
  readonly #lines: string[];

  constructor(block: Uint8Array, start: number, end: number) {
    this.#lines = decodeLatin1(block, start, end).split(CRLF);
  }

  /** Empty without that field. */
  get contentType(): string {
    return this.#values("content-type")[0] ?? "";
  }

  /**
   * Returns the content encoding for a body whose links can be rewritten, "identity" for none; null if it must pass
   * unchanged.
   */
  findRewritableCoding(status: number): ContentEncoding | "identity" | null {
    if (status === PARTIAL_CONTENT) return null;
    const type = this.#values("content-type");
    if (type.length !== 1 || !isRewritable(type[0])) return null;
    // Event streams set this so that intermediaries do not buffer; rewriting does not buffer.
    const noTransform = this.#values("cache-control").some((value) =>
      /(?:^|[\s,])no-transform(?:[\s,]|$)/i.test(value)
    );
    if (noTransform && !isEventStream(type[0])) return null;
    const codings = this.#values("content-encoding").map((value) => value.toLowerCase());
    if (codings.length === 0 || (codings.length === 1 && codings[0] === "identity")) return "identity";
    return codings.length === 1 ? findCoding(codings[0]) : null;
  }

  /** Makes hosts in fields that browsers read public, whatever the body is. */
  rewriteFields(links: Links): void {
    this.#replace(/^content-security-policy(?:-report-only)?$/, (_name, value) => rewritePolicy(value, links));
  }

  /**
   * Removes fields that hold only for the service's own body.
   * @param length the new body's length, if known
   */
  describeRewritten(length: number | null): void {
    this.#replace(OF_THE_BODY, (name) => name === "content-length" && length !== null ? String(length) : null);
    this.#replace(/^etag$/, (_name, value) => markTag(value));
  }

  /** Gives a 304 the tag that the visitor knows. */
  markRestoredTag(restored: RestoredTags): void {
    this.#replace(/^etag$/, (_name, value) => restored.has(value) ? markTag(value) : value);
  }

  toBytes(): Uint8Array {
    return encodeLatin1(this.#lines.join(CRLF));
  }

  #values(name: string): string[] {
    const values: string[] = [];
    for (const line of this.#fields()) if (line.name === name) values.push(line.value);
    return values;
  }

  /** Replaces or removes fields. */
  #replace(names: RegExp, change: (name: string, value: string) => string | null): void {
    for (const { index, name, value } of this.#fields().toReversed()) {
      const changed = names.test(name) ? change(name, value) : value;
      if (changed === null) this.#lines.splice(index, 1);
      else if (changed !== value) this.#lines[index] = `${this.#lines[index].slice(0, name.length)}: ${changed}`;
    }
  }

  #fields(): { index: number; name: string; value: string }[] {
    // The first line is the reason phrase, and no text follows the last CRLF.
    return this.#lines.slice(1, -1).map((line, index) => {
      const colon = line.indexOf(":");
      return { index: index + 1, name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim() };
    });
  }
}

const CRLF = "\r\n";
const PARTIAL_CONTENT = 206;
/** Length, digests, and support for ranges. */
const OF_THE_BODY = /^(?:content-length|content-md5|digest|content-digest|repr-digest|accept-ranges)$/;

/** Returns trailer fields without those that hold only for the service's own body. */
export function dropDigests(trailers: Uint8Array): Uint8Array {
  if (trailers.length === 0) return trailers;
  const lines = decodeLatin1(trailers, 0, trailers.length).split(CRLF);
  const kept = lines.filter((line) => !OF_THE_BODY.test(line.slice(0, line.indexOf(":")).toLowerCase()));
  return encodeLatin1(kept.join(CRLF));
}
