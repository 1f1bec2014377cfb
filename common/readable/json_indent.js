// @ts-check
// JSON with line breaks and indents. The tokens stay as they are written: numbers keep all of their digits, and names
// that appear twice both stay.

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * The text indented by two; null when it is no JSON.
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
    out.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth++;
    previous = token;
  }
  return out.join("") + "\n";
}
