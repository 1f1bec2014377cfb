import type { RequestHead } from "../../../net/http1/mod.ts";
import type { Edit, PublicBase } from "./addresses.ts";
import { RewrittenHead } from "./response_head.ts";
import { BodyRewriter } from "./body_rewriter.ts";
import { findCountedTexts } from "./flight.ts";
import { isLocalHost, LinkGrammar } from "./link_grammar.ts";
import { LinkRewriter } from "./link_rewriter.ts";
import { Links, type OwnHosts } from "./links.ts";
import type { PublicPorts } from "./public_ports.ts";
import type { ContentEncoding } from "../../../net/body/content_encoding.ts";
import { editRequest } from "./request_edits.ts";

/** A service, and the links to it that become public. */
export interface RewritingOptions {
  /** The service's URL. */
  readonly service: URL;
  /** The Host that the service receives; null for the visitor's. */
  readonly hostHeader: string | null;
  readonly ports: PublicPorts;
}

/** Makes local links in a service's responses public. */
export class Rewriting {
  readonly #grammar: LinkGrammar;
  readonly #own: OwnHosts;
  readonly #ports: PublicPorts;
  readonly #isTranslated: boolean;
  /** Links for the last public URL: nearly always there is only one. */
  #last: { base: PublicBase; links: Links } | null = null;

  constructor({ service, hostHeader, ports }: RewritingOptions) {
    const authorities = [service.host, hostHeader ?? service.host].map((host) => host.toLowerCase());
    const names = authorities.map((authority) => authority.replace(/:\d+$/, "")).filter((name) => !isLocalHost(name));
    this.#grammar = new LinkGrammar([...new Set(names)]);
    const scheme = service.protocol.slice(0, -1);
    const port = service.port === "" ? (scheme === "https" ? 443 : 80) : Number(service.port);
    this.#own = { port, scheme, authorities: new Set(authorities) };
    this.#ports = ports;
    this.#isTranslated = hostHeader !== null;
  }

  /** Begins an exchange with a visitor's request to `base`. */
  begin(head: RequestHead, base: PublicBase): RewrittenExchange {
    const restored = new Set<string>();
    const origins = this.#isTranslated ? { toLocal: (host: string) => this.#toLocalOrigin(host, base) } : null;
    const edits = editRequest(head, origins, restored);
    return new RewrittenExchange(this.#grammar, this.#linksOf(base), edits, restored);
  }

  /** Returns the public origin for another local port that a response's head names; otherwise null. */
  findOrigin(authority: string, base: PublicBase): string | null {
    const [, host, port] = AUTHORITY.exec(authority.toLowerCase()) ?? [];
    if (host === undefined || !isLocalHost(host)) return null;
    const publicHost = this.#linksOf(base).hostOf(Number(port));
    return publicHost === null ? null : `${base.isSecure ? "https" : "http"}://${publicHost}`;
  }

  #linksOf(base: PublicBase): Links {
    if (this.#last?.base !== base) {
      const links = new Links(this.#ports, this.#own, base.host, base.isSecure);
      this.#last = { base, links };
    }
    return this.#last.links;
  }

  #toLocalOrigin(host: string, base: PublicBase): string | null {
    const port = host === base.host ? null : this.#ports.toLocal(host, base.host);
    if (port === null) return null;
    return port === 443 ? "https://localhost" : `http://localhost${port === 80 ? "" : `:${port}`}`;
  }
}

const NOT_MODIFIED = 304;

/** Matches `localhost:4000` and similar names. */
const AUTHORITY = /^(.+):(\d{1,5})$/;

/** A response's rewritten head. */
export interface RewrittenResponse {
  readonly head: RewrittenHead;
  /** The body's content encoding; null if the body passes unchanged. */
  readonly coding: ContentEncoding | "identity" | null;
}

/** Whether the body is rewritten too. */
export function isBodyRewritten(
  answer: RewrittenResponse,
): answer is RewrittenResponse & { readonly coding: ContentEncoding | "identity" } {
  return answer.coding !== null;
}

/** One request and its response. */
export class RewrittenExchange {
  /** Changes to the request, in order. */
  readonly edits: readonly Edit[];
  readonly #grammar: LinkGrammar;
  readonly #links: Links;
  readonly #restored: ReadonlySet<string>;

  constructor(grammar: LinkGrammar, links: Links, edits: readonly Edit[], restored: ReadonlySet<string>) {
    this.#grammar = grammar;
    this.#links = links;
    this.edits = edits;
    this.#restored = restored;
  }

  /** @param block a final response's reason phrase, CRLF, field lines: `block[start, end)` */
  readHead(status: number, block: Uint8Array, start: number, end: number): RewrittenResponse {
    const head = new RewrittenHead(block, start, end);
    head.rewriteFields(this.#links);
    const coding = head.findRewritableCoding(status);
    if (status === NOT_MODIFIED) head.markRestoredTag(this.#restored);
    return { head, coding: status === NOT_MODIFIED ? null : coding };
  }

  /** @param contentType the body's type */
  createRewriter(contentType: string): BodyRewriter {
    return new BodyRewriter(new LinkRewriter(this.#grammar, this.#links), findCountedTexts(contentType));
  }
}
