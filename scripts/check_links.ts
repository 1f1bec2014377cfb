/** Checks each relative link in the project's Markdown: the file exists, and so does the heading. Prints dead links. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { exit, stderr } from "node:process";

const SKIPPED_FOLDER = /^(?:\.git|node_modules|dist|src|testdata|portway-data)$/;
/** Markdown links and images. Code spans are removed before. */
const LINK = /\]\(([^)\s]+)\)/g;

/**
 * Returns a line per dead link.
 * @param files Markdown text by path relative to the root, with forward slashes
 * @param exists reports whether another file or folder of the project exists
 */
export function findDeadLinks(files: ReadonlyMap<string, string>, exists: (path: string) => boolean): string[] {
  const anchors = new Map([...files].map(([file, text]) => [file, listAnchors(text)]));
  return [...files].flatMap(([file, text]) =>
    listLinks(text).flatMap((link) => {
      const [path, anchor] = link.split("#", 2);
      const target = path === "" ? file : normalize(join(dirname(file), path));
      if (!files.has(target) && !exists(target)) return [`${file}: dead link "${link}"`];
      if (anchor !== undefined && anchors.get(target)?.has(anchor) === false) {
        return [`${file}: "${link}": no such heading`];
      }
      return [];
    })
  );
}

/** Relative links outside code. */
function listLinks(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(LINK)].map(([, link]) => link).filter((link) => !/^(?:[a-z]+:|\/\/)/.test(link));
}

/** Anchors of headings, as code hosts and the site make them, and explicit ones (`{#name}`). */
function listAnchors(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#{1,6} (.+)$/gm)) {
    const explicit = /\{#([^}]+)\}\s*$/.exec(heading)?.[1];
    anchors.add(explicit ?? toAnchor(heading));
  }
  return anchors;
}

function toAnchor(heading: string): string {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/`/g, "");
  return text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
}

function listMarkdown(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return SKIPPED_FOLDER.test(entry.name) ? [] : listMarkdown(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

if (import.meta.main) {
  const files = new Map(listMarkdown(".").map((file) => [file, readFileSync(file, "utf8")]));
  const dead = findDeadLinks(files, existsSync);
  for (const line of dead) stderr.write(`${line}\n`);
  exit(dead.length === 0 ? 0 : 1);
}
