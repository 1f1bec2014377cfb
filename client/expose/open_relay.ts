import { describeError } from "../../common/log.ts";
import { CommandError } from "../command_error.ts";
import type { SavedTunnel } from "../tunnel/mod.ts";

/** A relay inside this process, for who has no other. */
export interface EmbeddedRelay {
  url: URL;
  close(): Promise<void>;
}

/** Starts a relay on a port of this machine, 0 for a free one. It keeps its data in `dataDir`, or nothing with null. */
export type StartEmbeddedRelay = (port: number, dataDir: string | null) => Promise<EmbeddedRelay>;

/** The relay that a tunnel runs through. */
export interface OpenRelay {
  url: URL;
  /** Where a later run finds it, with the tunnel; null when it knows the tunnel no longer than it runs. */
  place: Pick<SavedTunnel, "server" | "embeddedPort"> | null;
  /** Ends what runs in this process. */
  close(): Promise<void>;
}

/** Which relay a tunnel gets, and how one inside this process is started. */
export interface OpenRelayOptions {
  /** None for a relay inside this process. */
  server: URL | null;
  /** The tunnel to take back, which only the relay that knows it can give. */
  resumed: SavedTunnel | null;
  /** Where a relay inside this process keeps its data; null to keep nothing. */
  dataDir: string | null;
  start: StartEmbeddedRelay;
  /** Tells the user something. */
  note(text: string): void;
}

/**
 * The server that is configured, or one inside this process. A folder that cannot be used costs that one its memory.
 * @throws CommandError when none can run here, or a tunnel is resumed and its data cannot be had
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

/** What it costs that a tunnel could not be kept, in words for the user. */
export function explainNotKept(problem: unknown): string {
  return `--resume will not find this tunnel: ${describeError(problem)}`;
}

/** With the problem that made it one without a memory, if there was one. */
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
