import type { Command, Program } from "../common/command_line/mod.ts";
import { later } from "../common/later.ts";
import { PROJECT } from "../common/release.ts";
import type { RunningServer } from "./running_server.ts";

/** The server's commands. Modules load when a command runs, so that the client starts faster. */
export const serverCommands: readonly Command[] = [
  {
    name: "server",
    summary: "run the server: relay, API and proxy",
    examples: [
      ["portway server", "start a server for this machine at http://localhost:8787"],
      ["portway server --host 0.0.0.0 --url https://tunnel.example.com", "start a public server behind a TLS proxy"],
    ],
    loadOptions: async () => (await loadConfig()).serverOptions,
    run: async ({ flags }) => await (await loadRun()).runServer(flags),
  },
  {
    name: "server backup",
    summary: "copy the embedded database to a new file, even while the server runs",
    operands: ["FILE"],
    examples: [
      ["portway server backup tuesday.db", "back up; to restore, copy the file to portway.db in the data folder"],
    ],
    loadOptions: async () => (await loadConfig()).backUpOptions,
    run: async (args) => await (await loadBackUp()).runBackUp(args),
  },
  {
    name: "proxy",
    summary: "run the CORS proxy alone",
    examples: [
      ["portway proxy", "for pages on this machine, at http://localhost:8787/proxy/request"],
      ["portway proxy --open-paths", "accept URLs directly after the address"],
    ],
    loadOptions: async () => (await loadConfig()).proxyOnlyOptions,
    run: async ({ flags }) => await (await loadRun()).runProxy(flags),
  },
];

/** Starts a relay inside a client: on loopback, without a log, and in memory without a data folder. */
export async function loadEmbeddedRelay(port: number, dataDir: string | null): Promise<RunningServer> {
  return await (await loadRun()).startEmbeddedRelay(port, dataDir);
}

/** Starts a server for embedding code. @param options by their names @throws as `startServer` does */
export async function startServerWith(options: Readonly<Record<string, unknown>>): Promise<RunningServer> {
  return await (await loadRun()).startServerWith(options);
}

/** The server as a separate program, with the subcommands of `portway server` as its commands. */
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
