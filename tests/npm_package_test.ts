/** The package for Node as a newcomer meets it: built, installed in an empty folder, and run by Node itself. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildNpm } from "../scripts/build_npm.ts";
import { runTool } from "../scripts/package/run_tool.ts";
import { makeTempDir, startServer, startSite, startTunnel, visit, withInstalled } from "./kit.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The release that most have, and the oldest that the package says it runs on. */
const NODE = "node@24", OLDEST_NODE = "node@22.13.0";

const PROGRAM = `import { openTunnel, startServer, type OpenTunnel, type TunnelEventMap } from "portway";

const server = await startServer({ port: 0, dataDir: ":memory:" });
await using tunnel: OpenTunnel = await openTunnel({ server: server.url, fetch: () => new Response("hi") });
const seen: TunnelEventMap["request"][] = [];
const off: () => void = tunnel.on("request", (request) => void seen.push(request));
// @ts-expect-error -- there is no such event
export const refused = () => tunnel.on("nothing", () => {});
const until: Date = tunnel.expiresAt;
off();
console.log(until.getTime() > Date.now() && tunnel.url.startsWith("http"));
await tunnel.close();
await server.close();
`;

Deno.test("the package for Node: installs alone, has types, and works with Deno's on either side", async (t) => {
  await using folder = await makeTempDir();
  const { file, bytes, bundled, joined } = buildNpm(folder.path, {
    version: "0.1.0-test",
    form: "npm",
    releases: null,
    key: null,
  });
  const place = join(folder.path, "empty");
  await mkdir(place);
  await writeFile(join(place, "package.json"), '{"private":true,"type":"module"}');
  const said = runTool("npm", ["install", "--no-audit", "--no-fund", "--offline", file], place);
  const findNode = (name: string) => runTool("npx", ["-y", name, "-p", "process.execPath"], place).trim();
  const node = findNode(NODE);
  const installed = { node, folder: join(place, "node_modules", "portway") };

  await t.step("at most 25 packages of less than 4 MB together, those that the documents tell of", async () => {
    assert.match(said, /added 1 package/);
    assert(bytes < 4_000_000, String(bytes));
    const names = await listInstalled(join(place, "node_modules"));
    assert(names.length <= 25, names.join());
    const text = await readFile(join(root, "docs", "guides", "install.md"), "utf8");
    const documented = listDocumented(text);
    assert.deepEqual(names.filter((name) => name !== "portway"), documented.flatMap(({ names }) => names).sort());
    for (const { names, kB } of documented) {
      const sizes = await Promise.all(names.map((name) => sumBytes(join(installed.folder, "node_modules", name))));
      const size = sizes.reduce((sum, one) => sum + one, 0) / 1000;
      assert(Math.abs(kB - size) < Math.max(10, size / 10), `${kB} kB are stated of ${size} for ${names}`);
    }
    assert.match(text, new RegExp(`brings ${names.length} packages: its own and ${names.length - 1} inside`));
    const stated = Number(/tarball is ([\d.]+) MB/.exec(text)?.[1]);
    assert(Math.abs(stated - bytes / 1e6) < 0.3, `${stated} MB are stated of ${bytes} bytes`);
  });
  await t.step("the licences of all packages inside are in one file", async () => {
    const licences = await readFile(join(installed.folder, "THIRD_PARTY_LICENSES"), "utf8");
    assert(joined.includes("better-auth") && joined.includes("jose"), joined.join());
    for (const name of [...joined, ...bundled]) {
      assert.match(licences, new RegExp(`^${RegExp.escape(name)} \\d+\\.\\d+\\.\\d+$`, "m"));
    }
  });
  await t.step("its command says the release", () => {
    assert.equal(runTool(node, [join(place, "node_modules", ".bin", "portway"), "--version"], place), "0.1.0-test\n");
  });
  await t.step("its types fit a program, which runs", async () => {
    await writeFile(join(place, "program.ts"), PROGRAM);
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const flags = ["--strict", "--module", "nodenext", "--target", "es2022", "--lib", "esnext,dom"];
    runTool(Deno.execPath(), ["run", "-A", tsc, "--noEmit", ...flags, "program.ts"], place);
    assert.equal(runTool(node, ["program.ts"], place), "true\n");
  });
  for (const part of ["cli.ts", "server.ts", undefined] as const) {
    await t.step(
      `its ${part ?? "both ends"} with ${part === undefined ? "each other" : "Deno's other end"}`,
      async () => {
        await withInstalled({ ...installed, part }, async () => {
          await using site = startSite();
          await using server = await startServer();
          await using tunnel = await startTunnel({ server, target: site });
          assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
          assert.equal((await tunnel.stop()).code, 0);
        });
      },
    );
  }
  for (const name of [NODE, OLDEST_NODE]) {
    await t.step(`its file server, with its page, and its accounts, under ${name}`, async () => {
      await withInstalled({ ...installed, node: findNode(name) }, () => shareFolder(place));
    });
  }
});

/** The names of all packages below a `node_modules` folder, those inside others too, with one for each version. */
async function listInstalled(folder: string): Promise<string[]> {
  const found = (await readdir(folder, { recursive: true })).filter((path) => basename(path) === "package.json");
  const names = found.map((path) =>
    `/${dirname(path)}`.split(/[/\\]node_modules[/\\]|^\//).at(-1)!.replaceAll("\\", "/")
  );
  return names.filter((name) => /^(?:@[^/]+\/)?[^/]+$/.test(name)).sort();
}

/** The rows of the table of what the package brings. */
function listDocumented(text: string): { names: string[]; kB: number }[] {
  const [, part] = text.split("## What the package brings");
  return [...part.matchAll(/^\| ([^|]+) \| +([\d,]+) +\|/gm)]
    .map(([, packages, size]) => ({ names: packages.trim().split(", "), kB: Number(size.replaceAll(",", "")) }));
}

/** What all files below a folder have together. */
async function sumBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Both ends start, accounts answer from the database, and a folder is shared through a tunnel. */
async function shareFolder(place: string): Promise<void> {
  await using server = await startServer();
  assert.equal((await visit(`${server.url}/sign-in`)).status, 200);
  const code = await visit(`${server.url}/api/auth/device/code`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "client_id=portway-cli&scope=openid",
  });
  assert.match(await code.text(), /"user_code"/);
  await using tunnel = await startTunnel({ server, args: ["-f", place] });
  const page = await (await visit(tunnel.url, { headers: { accept: "text/html" } })).text();
  assert.match(page, /<!doctype html>/i);
  const shared = await (await visit(`${tunnel.url}/program.ts`)).text();
  assert.equal(shared, await readFile(join(place, "program.ts"), "utf8"));
  assert.equal((await tunnel.stop()).code, 0);
}
