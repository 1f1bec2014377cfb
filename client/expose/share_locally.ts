import { explainError } from "../../common/explain_error.ts";
import { listenForStop } from "../../common/stop_signal.ts";
import { aborted } from "../../common/delay.ts";
import type { Logger } from "../../common/log.ts";
import type { ClientConfig } from "../config.ts";
import { CommandError } from "../command_error.ts";
import { formatAuthority, type LocalServer, serveLocally } from "./local_server.ts";
import type { Shared } from "./shared.ts";
import type { Screen, Summary } from "../terminal/mod.ts";

/**
 * Serves a share on the local network until Ctrl+C, without a relay.
 * @returns the exit code
 * @throws CommandError when the port is not available
 */
export async function shareLocally(config: ClientConfig, shared: Shared, screen: Screen, log: Logger): Promise<number> {
  const summary: Summary = { requests: 0, bytes: 0 };
  const server = await listen(config, shared, log, (line) => {
    summary.requests++;
    summary.bytes += line.bytes;
    screen.request({ ...line, upgrade: null });
  });
  await screen.served(shared.name, server.urls);
  if (shared.note !== null) screen.note(shared.note);
  const stop = listenForStop();
  await aborted(stop.signal);
  await server.close();
  stop.release();
  screen.closed("No longer served.", summary);
  await screen.flush();
  return 0;
}

async function listen(
  { local, localHost }: ClientConfig,
  { target }: Shared,
  log: Logger,
  onRequest: Parameters<typeof serveLocally>[0]["onRequest"],
): Promise<LocalServer> {
  try {
    return await serveLocally({ target, hostname: localHost, port: local ?? 0, log, onRequest });
  } catch (cause) {
    await target.close();
    throw new CommandError(`cannot listen on ${formatAuthority(localHost, local ?? 0)}: ${explainError(cause)}`, {
      cause,
    });
  }
}
