import type { FlagTexts } from "../common/command_line.ts";
import { proxyOnlyOptions, serverOptions } from "./config.ts";
import type { RunningServer } from "./main.ts";

/** The server as the command line knows it. It is loaded only when it is wanted: the client starts faster without. */
export const serverProgram = {
  options: serverOptions,
  proxyOptions: proxyOnlyOptions,
  async run(flags: FlagTexts): Promise<number> {
    return await (await import("./run.ts")).runServer(flags);
  },
  async runProxy(flags: FlagTexts): Promise<number> {
    return await (await import("./run.ts")).runProxy(flags);
  },
  async startEmbeddedRelay(port: number, dataDir: string | null): Promise<RunningServer> {
    return await (await import("./run.ts")).startEmbeddedRelay(port, dataDir);
  },
};
