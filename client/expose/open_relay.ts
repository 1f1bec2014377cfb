import { describeError } from "../../common/log.ts";
import { CommandError } from "../command_error.ts";
import type { SavedTunnel } from "../tunnel/mod.ts";

/** A relay inside this process, for users without a server. */
export interface EmbeddedRelay {
  url: URL;
  close(): Promise<void>;
}

/** Starts a relay on a local port, 0 for a free one. It stores data in `dataDir`, or in memory for null. */
export type StartEmbeddedRelay = (port: number, dataDir: string | null) => Promise<EmbeddedRelay>;

/** A tunnel's relay. */
export interface OpenRelay {
  url: URL;
  /** The address where a later run finds the tunnel again; null if the relay forgets it at exit. */
  place: Pick<SavedTunnel, "server" | "embeddedPort"> | null;
  /** Closes a relay inside this process. */
  close(): Promise<void>;
}

/** Options for choosing and starting a relay. */
export interface OpenRelayOptions {
  /** Null for a relay inside this process. */
  server: URL | null;
  /** The tunnel to resume, which only its own relay knows. */
  resumed: SavedTunnel | null;
  /** The data folder for a relay inside this process; null for memory. */
  dataDir: string | null;
  start: StartEmbeddedRelay;
  /** Shows the user a sentence. */
  note(text: string): void;
}

/**
 * Returns the configured server, or starts one inside this process. If its folder is not usable, that one stores no
 * data.
 * @throws CommandError when none can run here, or the data of a resumed tunnel is not available
 */
export async function openRelay(options: OpenRelayOptions): Promise<OpenRelay> {
  const { server, dataDir, note } = options;
  if (server !== null) {
    return { url: server, place: { server: server.origin, embeddedPort: null }, close: () => Promise.resolve() };
  }
  const { relay, problem } = await startEmbedded(options);
  const { url } = relay;
  note(`No server is configured: running one here (${url.origin}), which only this machine can reach.`);
  if (problem !== null) note(explainNotKept(problem));
  const isLasting = dataDir !== null && problem === null;
  return {
    url,
    place: isLasting ? { server: null, embeddedPort: Number(url.port) } : null,
    close: () => relay.close(),
  };
}

/** Returns the consequence of an unsaved tunnel, for the user. */
export function explainNotKept(problem: unknown): string {
  return `--resume will not find this tunnel: ${describeError(problem)}`;
}

/** Starts the relay, in memory if `problem` is not null. */
async function startEmbedded(
  { start, dataDir, resumed }: OpenRelayOptions,
): Promise<{ relay: EmbeddedRelay; problem: unknown }> {
  try {
    return { relay: await start(resumed?.embeddedPort ?? 0, dataDir), problem: null };
  } catch (problem) {
    if (resumed !== null) throw explain(`cannot take ${resumed.url} back`, problem);
    const relay = await start(0, null).catch((cause) => {
      throw explain("cannot run a server here", cause);
    });
    return { relay, problem };
  }
}

function explain(what: string, cause: unknown): CommandError {
  return new CommandError(`${what}: ${describeError(cause)}`, { cause });
}
