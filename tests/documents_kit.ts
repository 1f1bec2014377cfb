/** Commands of the documents, and a machine on which they run as their readers would run them. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LineLog, makeTempDir, type Server, type Site, startServer, startSite, visit, within } from "./kit.ts";
import { TextLineStream } from "./kit/text_lines.ts";
import { makeToken } from "./views_kit.ts";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Programs whose command lines count as commands where a text names them. */
const PROGRAMS = "portway|deno|npx|npm|git|apt-get|systemctl|docker";

/**
 * The commands of a document, in order: lines of `sh` blocks, lines behind `$` in others, and code within text that
 * begins with a program. In a table, what begins with a dash goes on from the command before it.
 */
export function listCommands(markdown: string): string[] {
  const found: string[] = [];
  for (const [at, part] of markdown.split(/^```/m).entries()) {
    if (at % 2 === 0) found.push(...listInline(part));
    else if (/^sh\n/.test(part)) found.push(...part.split("\n").slice(1).map((line) => line.replace(/\s+#.*$/, "")));
    else found.push(...[...part.matchAll(/^\$ (.+)$/gm)].map(([, line]) => line));
  }
  return found.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
}

function listInline(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const codes = [...line.matchAll(/`([^`]+)`/g)].map(([, code]) => code);
    const isRow = /^\| `portway /.test(line);
    return codes.flatMap((code) => {
      if (new RegExp(`^(?:${PROGRAMS}) .`).test(code)) return [code];
      return isRow && /^-\w+ ./.test(code) ? [`portway ${code}`] : [];
    });
  });
}

/** Somebody's machine: the project's source, a server that it reaches, services on ports 3000 and 4000. */
export interface Machine extends AsyncDisposable {
  /** Runs a command; one that goes on is visited and then stopped by Ctrl+C. */
  run(command: string): Promise<{ code: number; output: string; errors: string }>;
}

/** How a command says that it goes on until it is stopped. */
const GOES_ON = /Press Ctrl\+C|^Listening on/;

/** @param where the folder that the reader stands in: the project's, or an empty one */
export async function openMachine(where: "project" | "empty"): Promise<Machine> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTempDir()).path;
  const site = stack.use(startSite()), other = stack.use(startSite());
  const dataDir = join(folder, "server");
  const token = await makeToken(undefined, dataDir, ["tunnels:use", "tunnels:write", "views:read", "views:write"]);
  const server = stack.use(await startServer({ dataDir, args: ["--tunnels-per-minute", "1000"] }));
  await addThings(server, site, token);
  const source = join(folder, "upstream", "portway");
  await copySource(source);
  mkdirSync(join(folder, "empty"));
  const env: Record<string, string> = { ...createEnvironment(folder), PORTWAY_TOKEN: token };
  let here = where === "project" ? source : join(folder, "empty");
  makeFolders(here);
  const owned = stack.move();
  return {
    async run(command) {
      const line = place(command, { server, site, other, source });
      const [, name, value] = /^export (\w+)=(.*)$/.exec(line) ?? [];
      const [, target] = /^cd (\S+)$/.exec(line) ?? [];
      if (name !== undefined) env[name] = value;
      else if (target !== undefined) makeFolders(here = join(here, target));
      else return await runLine(line, here, env);
      return { code: 0, output: "", errors: "" };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Puts what is here in the place of what documents name. */
function place(command: string, { server, site, other, source }: Places): string {
  return command
    .replace(/^npx -y deno@\S+/, "deno")
    .replace(/https:\/\/git\.example\.com\/portway\.git/, source)
    .replace("--host 0.0.0.0", "--host 127.0.0.1")
    .replace("--port 8787", "--port 0")
    .replace(
      /(PORTWAY_SERVER=|--server |^curl .*)https?:\/\/(?:tunnel\.example\.com|localhost:8787)/,
      `$1${server.url}`,
    )
    .replaceAll(/(-e |--forward |localhost:)3000\b/g, `$1${site.port}`)
    .replaceAll(/(-e )4000\b/g, `$1${other.port}`);
}

interface Places {
  server: Server;
  site: Site;
  other: Site;
  source: string;
}

/** What packages are fetched with on this machine: its cache, npm's settings, the authorities it trusts. */
const FETCHING = /^(?:DENO_DIR|DENO_CERT|DENO_TLS_CA_STORE|NODE_EXTRA_CA_CERTS|NPM_CONFIG_\w+)$/i;

/** Nothing of who runs the test but what packages are fetched with, and a home of its own. */
function createEnvironment(folder: string): Record<string, string> {
  const bin = join(folder, "bin"), installed = join(folder, "installed");
  mkdirSync(bin);
  const program = `#!/bin/sh\nexec "${Deno.execPath()}" run --quiet -A ${join(ROOT, "cli.ts")} "$@"\n`;
  writeFileSync(join(bin, "portway"), program, { mode: 0o755 });
  // A browser that opens nothing.
  writeFileSync(join(bin, "xdg-open"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(folder, ".curlrc"), "fail\nsilent\nshow-error\n");
  const path = [join(installed, "bin"), bin, dirname(Deno.execPath()), Deno.env.get("PATH")].join(":");
  const kept = Object.entries(Deno.env.toObject()).filter(([name]) => FETCHING.test(name));
  return {
    ...Object.fromEntries(kept),
    DENO_DIR: Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME") ?? "", ".cache", "deno"),
    PATH: path,
    HOME: folder,
    TERM: "dumb",
    NO_COLOR: "1",
    DENO_INSTALL_ROOT: installed,
    DENO_NO_UPDATE_CHECK: "1",
    PORTWAY_CONFIG_DIR: join(folder, "config"),
    PORTWAY_PORT: "0",
  };
}

/** The files as they are now, in a repository of their own. */
async function copySource(source: string): Promise<void> {
  const script =
    `git -C '${ROOT}' ls-files -coz --exclude-standard | tar -C '${ROOT}' --null -T - --ignore-failed-read -c |
    (mkdir -p '${source}' && cd '${source}' && tar -x && git init -q && git add -A &&
    git -c user.name=a -c user.email=a@example.com commit -qm source)`;
  const { success, stderr } = await new Deno.Command("bash", { args: ["-c", script], stdin: "null" }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** What documents share. */
function makeFolders(folder: string): void {
  for (const name of ["dist", "inbox"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "dist", "index.html"), "<!doctype html><title>it</title>");
}

/** A tunnel `shop`, for ports that are known only now, and a view `Orders`. */
async function addThings(server: Server, site: Site, token: string): Promise<void> {
  const things: [path: string, body: unknown][] = [
    ["tunnels", { name: "shop", defaultPort: site.port, allowedPorts: "all" }],
    ["views", { name: "Orders" }],
  ];
  for (const [path, body] of things) {
    const headers = { authorization: `Bearer ${token}` };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await visit(`${server.url}/api/v1/${path}`, init);
    if (answer.status !== 201) throw new Error(await answer.text());
  }
}

async function runLine(line: string, cwd: string, env: Record<string, string>) {
  const child = new Deno.Command("bash", {
    args: ["-c", line],
    cwd,
    clearEnv: true,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // A process group of its own, which Ctrl+C reaches as a whole.
    detached: true,
  }).spawn();
  const output = new LineLog(`the output of ${line}`), errors = new LineLog(`the errors of ${line}`);
  const ended = Promise.all([child.status, pump(child.stdout, output), pump(child.stderr, errors)]);
  try {
    const goesOn = output.waitFor(GOES_ON).then(() => true, () => false);
    if (await within(`what comes of ${line}`, goesOn, () => `; its errors:\n${errors.text}`)) {
      await visitPublic(output.text);
      signal(child.pid, "INT");
    }
    const [{ code }] = await within(`the end of ${line}`, ended, () => `; its output:\n${output.text}\n${errors.text}`);
    return { code, output: output.text, errors: errors.text };
  } finally {
    signal(child.pid, "KILL");
  }
}

/** What a command has made public answers. */
async function visitPublic(output: string): Promise<void> {
  const [, url] = /Public \w+ +(http:\S+)/.exec(output) ?? [];
  if (url === undefined) return;
  const { status } = await visit(url);
  if (status >= 500) throw new Error(`${url} answers ${status}:\n${output}`);
}

/** Of a whole group; one that has ended is no error. */
function signal(group: number, name: "INT" | "KILL"): void {
  new Deno.Command("kill", { args: [`-${name}`, "--", `-${group}`], stdout: "null", stderr: "null" }).outputSync();
}

async function pump(bytes: ReadableStream<Uint8Array<ArrayBuffer>>, log: LineLog): Promise<void> {
  const lines = bytes.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) log.add(line);
  log.end();
}

/** The text of a document of the project. */
export const readDocument = (path: string): string => readFileSync(join(ROOT, path), "utf8");
