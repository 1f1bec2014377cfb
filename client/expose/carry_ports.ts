import type { Connect } from "../../net/connection/mod.ts";
import type { OpenedPersistent, Screen, Summary } from "../terminal/mod.ts";
import { type CarriedTunnel, runTunnel, type Target, type TunnelEnd, type TunnelEvents } from "../tunnel/mod.ts";
import { exitCodeOf, explainEnd } from "./tunnel_end.ts";

/** A port of a persistent tunnel, and where it leads. */
export interface CarriedPort {
  port: number;
  /** Whether it is the tunnel's default one, which sessions do not name. */
  isDefault: boolean;
  url: string;
  target: Target;
  /** The path of what is exposed, which visitors should open; nothing for the root. */
  path: string;
}

/** A persistent tunnel, its ports that are exposed here, and where all that is shown. */
export interface CarryPortsOptions {
  connect: Connect;
  server: URL;
  tunnel: CarriedTunnel;
  name: string;
  usage: OpenedPersistent["usage"];
  /** At least one. */
  ports: readonly CarriedPort[];
  /** Stops all of them. */
  signal: AbortSignal;
  screen: Screen;
}

/**
 * Carries ports of one tunnel, a session each, until the last of them has ended, and shows all in one screen.
 * @returns the exit code
 * @throws ApiRefused, ApiUnreachable, LoginNeeded when one of them cannot be opened in the first place
 */
export async function carryPorts(options: CarryPortsOptions): Promise<number> {
  const { ports, screen } = options;
  const failed = new AbortController();
  const shown = new SharedScreen(options);
  const runs = ports.map(async (port) => {
    const end = await runTunnel({
      connect: options.connect,
      server: options.server,
      tunnel: options.tunnel,
      target: port.target,
      port: port.isDefault ? undefined : port.port,
      signal: AbortSignal.any([options.signal, failed.signal]),
      events: shown.eventsOf(port),
    });
    shown.ended(port, end);
    return end;
  });
  try {
    const ends = await Promise.all(runs);
    screen.closed(explainEnd(shown.lastEnd ?? ends[0]), shown.summary);
    return Math.max(...ends.map(exitCodeOf));
  } catch (error) {
    failed.abort();
    await Promise.allSettled(runs);
    throw error;
  }
}

/** What several sessions have to say, told as if they were one where they say the same. */
class SharedScreen {
  readonly summary: Summary = { requests: 0, bytes: 0 };
  /** How the one that was last ended. */
  lastEnd: TunnelEnd | null = null;
  readonly #options: CarryPortsOptions;
  /** Ports that wait for their first session, and those that lost theirs. */
  readonly #awaited: Set<CarriedPort>;
  readonly #lost = new Set<CarriedPort>();
  readonly #running: Set<CarriedPort>;
  /** Told by every session. */
  readonly #noticed = new Set<string>();

  constructor(options: CarryPortsOptions) {
    this.#options = options;
    this.#awaited = new Set(options.ports);
    this.#running = new Set(options.ports);
  }

  eventsOf(port: CarriedPort): TunnelEvents {
    const { screen, ports } = this.#options;
    return {
      onConnected: () => this.#connected(port),
      onRequest: (request) => {
        screen.request(ports.length > 1 ? { ...request, port: port.port } : request);
        if (request.upgrade === "open") return;
        this.summary.requests++;
        this.summary.bytes += request.bytes;
      },
      onReconnecting: (reason, delayMs) => {
        // One network, and one server: what takes one session takes them all.
        if (this.#lost.size === 0) screen.reconnecting(reason, delayMs);
        this.#lost.add(port);
      },
      onDraining: (active, ms) =>
        screen.note(
          `Letting ${active} ${active === 1 ? "answer" : "answers"}${this.#name(port)} end, ${ms / 1000} s at most. ` +
            "Press Ctrl+C again to cut.",
        ),
      onNotice: (text) => {
        if (this.#noticed.has(text)) return;
        this.#noticed.add(text);
        screen.note(text.replace(/\.?$/, "."));
      },
    };
  }

  ended(port: CarriedPort, end: TunnelEnd): void {
    this.lastEnd = end;
    this.#running.delete(port);
    this.#lost.delete(port);
    const isLast = this.#running.size === 0;
    if (!isLast && end.cause !== "stopped") this.#options.screen.note(`Port ${port.port}: ${explainEnd(end)}`);
  }

  #connected(port: CarriedPort): void {
    const { screen, tunnel: { id }, name, usage, ports } = this.#options;
    if (this.#awaited.delete(port)) {
      if (this.#awaited.size > 0) return;
      const shown = ports.map(({ port, url, target, path }) => ({ port, url, target: `${target.name}${path}` }));
      return void screen.openedPersistent({ id, name, ports: shown, usage });
    }
    if (this.#lost.delete(port) && this.#lost.size === 0) screen.reconnected();
  }

  /** Tells ports apart where there are several. */
  #name = ({ port }: CarriedPort) => this.#options.ports.length > 1 ? ` on port ${port}` : "";
}
