// @ts-check
// JSON with line breaks and indentation. Numbers keep all digits, and duplicate names stay.

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Indents JSON by two spaces, with letters in place of escapes. Returns null for text that is not JSON.
 * @param {string} text
 */
export function indentJson(text) {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  /** @type {string[]} */
  const out = [];
  let depth = 0;
  let previous = "";
  const breakLine = () => out.push("\n", "  ".repeat(depth));
  for (const [token] of text.matchAll(TOKENS)) {
    const isOpener = previous === "{" || previous === "[";
    if (token === "}" || token === "]") {
      depth--;
      if (!isOpener) breakLine();
    } else if (isOpener || previous === ",") breakLine();
    out.push(token === ":" ? ": " : token.startsWith('"') ? unescapeLetters(token) : token);
    if (token === "{" || token === "[") depth++;
    previous = token;
  }
  return out.join("") + "\n";
}

const ESCAPE = /\\(?:u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})|u([\da-f]{4})|(.))/gi;
/** Characters that stay escaped: quotes, controls, lone surrogates, and marks that are invisible or turn the text. */
const KEPT = /["\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029]/u;

/**
 * Replaces a string token's escapes by their characters.
 * @param {string} token
 */
function unescapeLetters(token) {
  if (!token.includes("\\")) return token;
  return token.replace(ESCAPE, (escape, high, low, single, other) => {
    if (other !== undefined) return other === "/" ? "/" : escape;
    const units = single === undefined ? [high, low] : [single];
    const letter = String.fromCharCode(...units.map((digits) => parseInt(digits, 16)));
    return KEPT.test(letter) ? escape : letter;
  });
}
