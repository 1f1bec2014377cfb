import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";

/** Copied there by scripts/build_site.ts. */
const SOURCE = new URL("../src/", import.meta.url).pathname;

/** Sections of the navigation, each with its folders in order. */
const SECTIONS: [text: string, folders: [text: string, folder: string][]][] = [
  ["Start", [["Start", "start"]]],
  ["Guides", [
    ["Guides", "guides"],
    ["Expose", "guides/expose"],
    ["Share", "guides/share"],
    ["Capture", "guides/capture"],
    ["Proxy", "guides/proxy"],
    ["Operate", "guides/operate"],
  ]],
  ["Reference", [["Reference", "reference"]]],
  ["Explanation", [["Explanation", "explanation"], ["Contributors", "contributors"]]],
];
/** Pages that come first in their folder, in reading order. The others follow by title. */
const FIRST = ["first-tunnel", "your-own-server", "capture-a-webhook", "share-a-folder", "install", "how-it-works"];

interface Page {
  text: string;
  link: string;
}

/** Returns the pages directly in a folder. */
function listPages(folder: string): Page[] {
  if (!existsSync(join(SOURCE, folder))) return [];
  const rank = (name: string) => FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length;
  return readdirSync(join(SOURCE, folder)).filter((file) => file.endsWith(".md"))
    .map((file) => ({ name: file.slice(0, -3), text: readTitle(join(SOURCE, folder, file)) }))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.text.localeCompare(b.text))
    .map(({ name, text }) => ({ text, link: `/${folder}/${name}` }));
}

function readTitle(file: string): string {
  return /^# (.+)$/m.exec(readFileSync(file, "utf8"))?.[1].replaceAll("`", "") ?? file;
}

const sidebar = SECTIONS.flatMap(([, folders]) => folders).map(([text, folder]) => ({ text, items: listPages(folder) }))
  .filter(({ items }) => items.length > 0);

export default defineConfig({
  title: "Portway",
  description: "A public URL for your machine, from your own relay.",
  base: "/docs/",
  srcDir: "src",
  outDir: "dist",
  cleanUrls: true,
  lastUpdated: false,
  // Local addresses in examples, and files that the public folder holds.
  ignoreDeadLinks: ["localhostLinks", /^http:\/\/localhost/, /\.1$/],
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/docs/mark.svg" }], ["meta", { name: "theme-color", content: "#3b5bdb" }]],
  // Text such as <host> is no HTML.
  markdown: {
    html: false,
    theme: { light: "github-light-high-contrast", dark: "github-dark" },
    // Double braces in text are placeholders of Portway, not Vue expressions.
    config(md) {
      const text = md.renderer.rules.text ?? ((tokens, at) => md.utils.escapeHtml(tokens[at].content));
      md.renderer.rules.text = (...args) => text(...args).replaceAll("{{", "<span v-pre>{{</span>");
      md.renderer.rules.code_inline = (tokens, at) => `<code v-pre>${md.utils.escapeHtml(tokens[at].content)}</code>`;
    },
  },
  themeConfig: {
    nav: SECTIONS.map(([text, folders]) => ({ text, link: listPages(folders[0][1])[0]?.link ?? "/" })),
    sidebar,
    search: { provider: "local" },
    outline: [2, 3],
  },
});
