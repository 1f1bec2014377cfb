import fs from "node:fs";

const texts = new Map<string, string>();

/**
 * Returns a shared stylesheet for pages that contain it, read from the disk at the first call: `tokens.css` has colours,
 * type and spacing, `base.css` controls.
 */
export function getStyleText(name: "tokens.css" | "base.css"): string {
  const known = texts.get(name) ?? fs.readFileSync(new URL(name, import.meta.url), "utf8");
  texts.set(name, known);
  return known;
}
