import { decodeLatin1, encodeLatin1 } from "../../../net/http1/mod.ts";
import { LinkGrammar } from "./link_grammar.ts";
import { LinkRewriter } from "./link_rewriter.ts";
import { Links } from "./links.ts";
import { exposeSeveral } from "./public_ports.ts";

/** A test service on port 3000 behind `https://app-x1.t.example`, whose ports 4000, 80 and 443 are public too. */
const PORTS = exposeSeveral({ defaultPort: 3000, allowed: [4000, 80, 443] });
const OWN = { port: 3000, scheme: "http", authorities: new Set(["shop.test:3000"]) };
const GRAMMAR = new LinkGrammar(["shop.test"]);

/** The visitor that links are written for. */
export interface RewriteTextOptions {
  /** The visitor's host; `app-x1.t.example` with https by default. */
  base?: string;
  isSecure?: boolean;
}

/** Returns a rewriter for one response and the test ports. */
export function createTestRewriter(
  { base = "app-x1.t.example", isSecure = true }: RewriteTextOptions = {},
): LinkRewriter {
  return new LinkRewriter(GRAMMAR, new Links(PORTS, OWN, base, isSecure));
}

/** Returns the rewritten text; each character is one byte. */
export function rewriteText(text: string, options?: RewriteTextOptions): string {
  const rewriter = createTestRewriter(options);
  const passed = rewriter.push(encodeLatin1(text)), last = rewriter.end();
  return decodeLatin1(passed, 0, passed.length) + decodeLatin1(last, 0, last.length);
}

/** Rewrites a text in chunks. Returns the result and the largest number of held bytes. */
export function rewritePieces(pieces: readonly string[]): { text: string; mostHeld: number } {
  const rewriter = createTestRewriter();
  let text = "", mostHeld = 0;
  for (const piece of pieces) {
    const bytes = rewriter.push(encodeLatin1(piece));
    text += decodeLatin1(bytes, 0, bytes.length);
    mostHeld = Math.max(mostHeld, rewriter.held);
  }
  const last = rewriter.end();
  return { text: text + decodeLatin1(last, 0, last.length), mostHeld };
}
