import fs from "node:fs";

/** Where the stylesheets lie that all pages share: `tokens.css` has colours, type and spacing, `base.css` controls. */
export const LOOK_FOLDER = new URL("./", import.meta.url);

const texts = new Map<string, string>();

/** A shared stylesheet for a page that has it inside, read from the disk at the first call. */
export function getLookText(name: "tokens.css" | "base.css"): string {
  const known = texts.get(name) ?? fs.readFileSync(new URL(name, LOOK_FOLDER), "utf8");
  texts.set(name, known);
  return known;
}
