import { deepEqual, ok } from "node:assert/strict";
import { fileURLToPath } from "node:url";

/** What `deno info --json` tells of a module. */
interface Info {
  specifier: string;
  dependencies?: { isDynamic?: boolean; code?: { specifier?: string } }[];
}

/** All that is loaded with an entry: what it imports at its start, and so on. */
async function findLoaded(entry: string): Promise<string[]> {
  const args = ["info", "--json", fileURLToPath(new URL(`../${entry}`, import.meta.url))];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args, stderr: "inherit" }).output();
  const { roots, modules }: { roots: string[]; modules: Info[] } = JSON.parse(new TextDecoder().decode(stdout));
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set(roots);
  for (const specifier of loaded) {
    for (const { isDynamic, code } of known.get(specifier)?.dependencies ?? []) {
      if (!isDynamic && code?.specifier !== undefined) loaded.add(code.specifier);
    }
  }
  return [...loaded];
}

Deno.test("a server starts without the proxy, accounts, views and HQ, and the libraries that they are made of", async () => {
  const loaded = await findLoaded("server/run.ts");
  ok(loaded.some((specifier) => specifier.endsWith("/server/relay/visit/visits.ts")));
  const putOff = /\/server\/(?:accounts|captures|hq|proxy)\/|^npm:\/?(?:hono|zod|better-auth|@better-auth)\b/;
  deepEqual(loaded.filter((specifier) => putOff.test(specifier)), []);
});
