import type { LineWriter } from "../../common/output/mod.ts";
import type { Screen } from "./screen.ts";

/** Returns the event that replaces dropped events when the reader is too slow. */
export const describeDroppedEvents = (count: number): string => serializeEvent("dropped", { count });

const serializeEvent = (event: string, fields: Record<string, unknown>) => JSON.stringify({ event, ...fields });

/**
 * Creates a screen that writes one JSON object per line, for scripts.
 * @param errors is flushed along with `out`
 */
export function createJsonScreen(out: LineWriter, errors: LineWriter): Screen {
  const print = (event: string, fields: Record<string, unknown>) => out.write(serializeEvent(event, fields));
  return {
    opened({ id, url, target, expiresAt, resumed }) {
      print("open", { url, target, expiresAt: new Date(expiresAt).toISOString(), id, resumed });
      return Promise.resolve();
    },
    openedPersistent({ id, name, ports, usage: { bytes, bytesLimit } }) {
      const [{ url, target }] = ports;
      print("open", { url, target, id, name, ports, usage: { bytes, bytesLimit } });
      return Promise.resolve();
    },
    served(target, urls) {
      print("serving", { target, url: urls[0], urls });
      return Promise.resolve();
    },
    // An upgrade appears twice: when it was granted, and as a request when it has ended.
    request: ({ method, path, status, durationMs, bytes, upgrade, port, reason }) =>
      print(upgrade === "open" ? "upgrade" : "request", {
        time: new Date().toISOString(),
        method,
        path,
        status,
        durationMs: Math.round(durationMs * 1000) / 1000,
        bytes,
        port,
        ...(reason && { reason }),
      }),
    reconnecting: (reason, delayMs) => print("reconnecting", { reason, delayMs: Math.round(delayMs) }),
    reconnected: () => print("reconnected", {}),
    note: (text) => print("note", { text }),
    closed: (reason, { requests, bytes }) => print("summary", { requests, bytes, reason }),
    flush: async () => {
      await out.flush();
      await errors.flush();
    },
  };
}
