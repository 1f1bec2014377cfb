import process from "node:process";
import { silentLogger } from "../common/log.ts";
import { resolveOptions } from "../common/options.ts";
import { clientOptions } from "./config.ts";
import { openApi } from "./open_api.ts";
import { type CaptureRecord, findNewest, followView } from "./views/mod.ts";

/** Options for following a view. */
export interface TailViewOptions {
  /** The server; by default the one of the last login. */
  server?: string | URL;
  /** An access token; by default the login from `portway --login`. */
  token?: string;
  /** The cursor to start after; by default only new captures are returned. */
  after?: number;
  /** Ends the iteration. */
  signal?: AbortSignal;
}

/**
 * Yields each captured call once, as it arrives.
 * @throws Error with a line for the user without a login or without such a view
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
