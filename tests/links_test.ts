/** Links in the documents lead somewhere. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const list = (folder: string) =>
  readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => join(folder, name));

for (const file of ["", "docs", "deploy", "bench"].flatMap(list)) {
  Deno.test(`the links of ${file} lead to files and headings that are there`, () => {
    const text = readFileSync(join(root, file), "utf8");
    const targets = [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, target]) => target);
    assert.deepEqual(targets.filter((target) => !isThere(file, target)), []);
  });
}

function isThere(from: string, target: string): boolean {
  const [path, heading] = target.split("#");
  const file = path === "" ? join(root, from) : join(root, dirname(from), path);
  if (!existsSync(file)) return false;
  return heading === undefined || listHeadings(readFileSync(file, "utf8")).includes(heading);
}

function listHeadings(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
  );
}
