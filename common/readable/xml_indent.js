// @ts-check
// XML with line breaks and indentation. Elements that contain only text stay on one line.

const TOKENS = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<[^>]*>|[^<]+/g;
const MAX_DEPTH = 100;

/**
 * Indents XML by two spaces. Returns null for text that does not look like XML.
 * @param {string} text
 */
export function indentXml(text) {
  if (!/^\s*</.test(text)) return null;
  /** @type {string[]} */
  const lines = [];
  let depth = 0;
  // The last opened element's text, until a child follows.
  let held = "";
  let isHeld = false;
  /** @param {string} line */
  const add = (line) => lines.push("  ".repeat(Math.min(depth, MAX_DEPTH)) + line);
  const flush = () => {
    if (held.trim() !== "") add(held.trim());
    held = "";
    isHeld = false;
  };
  for (const [token] of text.matchAll(TOKENS)) {
    if (!token.startsWith("<") || token.startsWith("<![CDATA[")) held += token;
    else if (token.startsWith("</")) {
      depth = Math.max(0, depth - 1);
      if (isHeld) lines[lines.length - 1] += held.trim() + token;
      else {
        depth++;
        flush();
        depth--;
        add(token);
      }
      held = "";
      isHeld = false;
    } else {
      flush();
      add(token);
      if (/^<[?!]|\/>$/.test(token)) continue;
      depth++;
      isHeld = true;
    }
  }
  flush();
  return lines.join("\n") + "\n";
}
