import process from "node:process";
import { silentLogger } from "../common/log.ts";
import { resolveOptions } from "../common/options.ts";
import { clientOptions } from "./config.ts";
import { openApi } from "./open_api.ts";
import { type CaptureRecord, findNewest, followView } from "./views/mod.ts";

/** Which server is followed, as whom, and from where on. */
export interface TailViewOptions {
  /** The server; the one that was logged in to last when left out. */
  server?: string | URL;
  /** An access token; the login of `portway --login` when left out. */
  token?: string;
  /** The cursor that captures come after; only new ones when left out. */
  after?: number;
  /** Ends it. */
  signal?: AbortSignal;
}

/**
 * The calls that a view captures, each once, as they come.
 * @throws Error with a line for the user when nobody is logged in, or the view is not there
 */
export async function* tailView(viewId: string, options: TailViewOptions = {}): AsyncGenerator<CaptureRecord, void> {
  const { server, token, after, signal = new AbortController().signal } = options;
  const env = token === undefined ? process.env : { ...process.env, PORTWAY_TOKEN: token };
  const flags = { server: server === undefined ? undefined : new URL(server).origin };
  const config = resolveOptions(clientOptions, { flags, env });
  const { api } = await openApi({ config, env, log: silentLogger });
  const nothing = () => {};
  yield* followView({
    api,
    viewId,
    after: after ?? await findNewest(api, viewId),
    signal,
    onLost: nothing,
    onBack: nothing,
  });
}
