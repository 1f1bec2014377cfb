import type { Connect } from "../../net/connection/mod.ts";
import type { OpenedPersistent, Screen, Summary } from "../terminal/mod.ts";
import { type CarriedTunnel, runTunnel, type Target, type TunnelEnd, type TunnelEvents } from "../tunnel/mod.ts";
import { exitCodeOf, explainEnd } from "./tunnel_end.ts";

/** A port of a persistent tunnel with its target. */
export interface CarriedPort {
  port: number;
  /** Whether it is the tunnel's default port, which sessions do not name. */
  isDefault: boolean;
  url: string;
  target: Target;
  /** The exposed path, which visitors should open; empty for the root. */
  path: string;
}

/** Options for the exposed ports of a persistent tunnel. */
export interface CarryPortsOptions {
  connect: Connect;
  server: URL;
  tunnel: CarriedTunnel;
  name: string;
  usage: OpenedPersistent["usage"];
  /** At least one. */
  ports: readonly CarriedPort[];
  /** Stops all ports. */
  signal: AbortSignal;
  screen: Screen;
}

/**
 * Carries ports of one tunnel, one session each, until the last one has ended. All share one screen.
 * @returns the exit code
 * @throws ApiRefused, ApiUnreachable, LoginNeeded when one cannot be opened for the first time
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

/** Shows several sessions on one screen, and equal events only once. */
class SharedScreen {
  readonly summary: Summary = { requests: 0, bytes: 0 };
  /** The end of the last port. */
  lastEnd: TunnelEnd | null = null;
  readonly #options: CarryPortsOptions;
  /** Ports without a first session, and ports that lost theirs. */
  readonly #awaited: Set<CarriedPort>;
  readonly #lost = new Set<CarriedPort>();
  readonly #running: Set<CarriedPort>;
  /** Notices so far, because every session receives each one. */
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
        // All sessions share one network and one server, so they are lost together.
        if (this.#lost.size === 0) screen.reconnecting(reason, delayMs);
        this.#lost.add(port);
      },
      onDraining: (active, ms) =>
        screen.note(
          `Finishing ${active} ${active === 1 ? "request" : "requests"}${this.#name(port)}, ${ms / 1000} s at most. ` +
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

  /** Names the port if there are several. */
  #name = ({ port }: CarriedPort) => this.#options.ports.length > 1 ? ` on port ${port}` : "";
}
