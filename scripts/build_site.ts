/**
 * Builds the documentation site from docs/ into site/dist with VitePress: pages, search index and styles. A dead link
 * fails the build; scripts/check_links.ts checks anchors. Installs VitePress first unless it is there.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { nameCommand } from "../common/platform/mod.ts";

const root = new URL("..", import.meta.url);
const site = new URL("site/", root);

/** Copies docs/ and deploy/README.md into one tree with links between them. */
function copySources(): void {
  const source = new URL("src/", site);
  rmSync(source, { recursive: true, force: true });
  cpSync(new URL("docs/", root), source, { recursive: true });
  const deploy = readFileSync(new URL("deploy/README.md", root), "utf8").replaceAll("](../docs/", "](../../");
  mkdirSync(new URL("guides/operate/", source), { recursive: true });
  writeFileSync(new URL("guides/operate/deploy.md", source), deploy);
  for (const file of listMarkdown(source)) {
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(/\]\((?:\.\.\/)+deploy\/README\.md/g, "](/guides/operate/deploy"));
  }
  const files = new URL("public/reference/", source);
  mkdirSync(files, { recursive: true });
  for (const name of readdirSync(new URL("reference/", source)).filter((name) => !name.endsWith(".md"))) {
    cpSync(new URL(`reference/${name}`, source), new URL(name, files));
  }
  cpSync(new URL("server/hq/assets/mark.svg", root), new URL("public/mark.svg", source));
  cpSync(new URL("web/styles/tokens.css", root), new URL(".vitepress/theme/tokens.css", site));
}

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(nameCommand(command), [...args], { cwd: fileURLToPath(site), stdio: "inherit" });
  if (status !== 0) throw new Error(`cannot run "${command} ${args.join(" ")}"`, { cause: error });
}

/** Markdown files below a folder. */
function listMarkdown(folder: URL): URL[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"))
    .map((file) => new URL(file.replaceAll("\\", "/"), folder));
}

/** Builds the site. @throws Error when a step fails */
export function buildSite(): void {
  copySources();
  if (!existsSync(new URL("node_modules/vitepress/", site))) run("npm", ["ci", "--silent"]);
  rmSync(new URL("dist/", site), { recursive: true, force: true });
  run("npm", ["run", "--silent", "build"]);
}

if (import.meta.main) buildSite();
