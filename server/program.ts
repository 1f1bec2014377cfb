import type { Command, Program } from "../common/command_line/mod.ts";
import { later } from "../common/later.ts";
import { PROJECT } from "../common/release.ts";
import type { RunningServer } from "./main.ts";

/** The server's commands. What they run is loaded only when it is wanted: the client starts faster without. */
export const serverCommands: readonly Command[] = [
  {
    name: "server",
    summary: "run the server: relay, API and proxy",
    examples: [
      ["portway server", "a server for this machine, at http://localhost:8787"],
      ["portway server --host 0.0.0.0 --url https://tunnel.example.com", "one that others reach, behind a TLS proxy"],
    ],
    loadOptions: async () => (await loadConfig()).serverOptions,
    run: async ({ flags }) => await (await loadRun()).runServer(flags),
  },
  {
    name: "server backup",
    summary: "copy the embedded database of a server, running or not, to a new file",
    operands: ["FILE"],
    examples: [
      ["portway server backup tuesday.db", "a copy that a server starts from when it is its folder's portway.db"],
    ],
    loadOptions: async () => (await loadConfig()).backUpOptions,
    run: async (args) => await (await loadBackUp()).runBackUp(args),
  },
  {
    name: "proxy",
    summary: "run the CORS proxy alone",
    examples: [
      ["portway proxy", "for pages on this machine, at http://localhost:8787/proxy/request"],
      ["portway proxy --open-paths", "URLs may stand right behind its address"],
    ],
    loadOptions: async () => (await loadConfig()).proxyOnlyOptions,
    run: async ({ flags }) => await (await loadRun()).runProxy(flags),
  },
];

/** A relay for the process of a client that has no other: on loopback only, quiet, in memory without a data folder. */
export async function loadEmbeddedRelay(port: number, dataDir: string | null): Promise<RunningServer> {
  return await (await loadRun()).startEmbeddedRelay(port, dataDir);
}

/** A server in the process of who embeds it, with options by their names. Throws as `startServer` does. */
export async function startServerWith(options: Readonly<Record<string, unknown>>): Promise<RunningServer> {
  return await (await loadRun()).startServerWith(options);
}

/** The server as a program of its own: what stands behind `portway server` stands behind its name. */
export const serverProgram: Program = {
  name: "server.ts",
  about: `${PROJECT}: the server`,
  commands: serverCommands.filter(({ name }) => /^server\b/.test(name))
    .map((command) => ({ ...command, name: command.name.slice("server ".length) })),
};

async function loadConfig(): Promise<typeof import("./config.ts")> {
  const config: typeof import("./config.ts") = await import(later("./config.ts"));
  return config;
}

async function loadBackUp(): Promise<typeof import("./back_up.ts")> {
  const backUp: typeof import("./back_up.ts") = await import(later("./back_up.ts"));
  return backUp;
}

async function loadRun(): Promise<typeof import("./run.ts")> {
  const run: typeof import("./run.ts") = await import(later("./run.ts"));
  return run;
}
