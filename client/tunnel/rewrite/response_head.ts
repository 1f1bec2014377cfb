import { decodeLatin1, encodeLatin1 } from "../../../net/http1/mod.ts";
import type { Links } from "./links.ts";
import { isEventStream, isRewritable } from "./media_type.ts";
import { rewritePolicy } from "./policy.ts";
import { type ContentEncoding, findCoding } from "../../../net/body/content_encoding.ts";
import { markTag, type RestoredTags } from "./tags.ts";

/** A head as it travels, reason phrase, CRLF, field lines, to be looked through and changed. */
export class RewrittenHead {
  readonly #lines: string[];

  constructor(block: Uint8Array, start: number, end: number) {
    this.#lines = decodeLatin1(block, start, end).split(CRLF);
  }

  /** "" when there is none. */
  get contentType(): string {
    return this.#values("content-type")[0] ?? "";
  }

  /** The coding of a body whose links can be rewritten, "identity" for none; null when it must pass as it is. */
  findRewritableCoding(status: number): ContentEncoding | "identity" | null {
    if (status === PARTIAL_CONTENT) return null;
    const type = this.#values("content-type");
    if (type.length !== 1 || !isRewritable(type[0])) return null;
    // Event streams say it so that nobody on the way holds them back, which we do not.
    const noTransform = this.#values("cache-control").some((value) =>
      /(?:^|[\s,])no-transform(?:[\s,]|$)/i.test(value)
    );
    if (noTransform && !isEventStream(type[0])) return null;
    const codings = this.#values("content-encoding").map((value) => value.toLowerCase());
    if (codings.length === 0 || (codings.length === 1 && codings[0] === "identity")) return "identity";
    return codings.length === 1 ? findCoding(codings[0]) : null;
  }

  /** Makes hosts in what a browser is told of the page public; whatever the body is. */
  rewriteFields(links: Links): void {
    this.#replace(/^content-security-policy(?:-report-only)?$/, (_name, value) => rewritePolicy(value, links));
  }

  /**
   * Leaves out what is true only of the body as the service made it.
   * @param length of the body as it will be, where that is known
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

  /** Gives fields another value, or none. */
  #replace(names: RegExp, change: (name: string, value: string) => string | null): void {
    for (const { index, name, value } of this.#fields().toReversed()) {
      const changed = names.test(name) ? change(name, value) : value;
      if (changed === null) this.#lines.splice(index, 1);
      else if (changed !== value) this.#lines[index] = `${this.#lines[index].slice(0, name.length)}: ${changed}`;
    }
  }

  #fields(): { index: number; name: string; value: string }[] {
    // The first line is the reason phrase, and behind the last CRLF there is nothing.
    return this.#lines.slice(1, -1).map((line, index) => {
      const colon = line.indexOf(":");
      return { index: index + 1, name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim() };
    });
  }
}

const CRLF = "\r\n";
const PARTIAL_CONTENT = 206;
/** Its length, its digests, and that parts of it can be asked for. */
const OF_THE_BODY = /^(?:content-length|content-md5|digest|content-digest|repr-digest|accept-ranges)$/;

/** Trailer fields without those that are true only of the body as the service made it. */
export function dropDigests(trailers: Uint8Array): Uint8Array {
  if (trailers.length === 0) return trailers;
  const lines = decodeLatin1(trailers, 0, trailers.length).split(CRLF);
  const kept = lines.filter((line) => !OF_THE_BODY.test(line.slice(0, line.indexOf(":")).toLowerCase()));
  return encodeLatin1(kept.join(CRLF));
}
