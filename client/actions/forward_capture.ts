import { openConnector } from "../../net/connection/mod.ts";
import { formatBytes, formatDuration, printable } from "../../common/format.ts";
import type { Logger } from "../../common/log.ts";
import type { ApiClient } from "../api/mod.ts";
import type { ClientConfig } from "../config.ts";
import { logConnect } from "../log_connect.ts";
import {
  type CaptureRecord,
  deliver,
  type Delivered,
  formatBody,
  NotDelivered,
  streamCaptured,
  type ViewRecord,
} from "../views/mod.ts";

/** Delivers captures to the service of `--forward`, one after the other. */
export interface Forwarder {
  /** The service, for messages. */
  readonly name: string;
  /** What it answered, or why it did not. */
  forward(capture: CaptureRecord): Promise<Delivered | NotDelivered>;
}

/** A forwarder as the options want it, or null without `--forward`. */
export function openForwarder(
  { forward, hostHeader }: Pick<ClientConfig, "forward" | "hostHeader">,
  api: Pick<ApiClient, "stream">,
  { id: viewId }: ViewRecord,
  signal: AbortSignal,
  log: Logger,
): Forwarder | null {
  if (forward === null) return null;
  // Straight to it, whatever proxy stands between this machine and the server.
  const connect = logConnect(openConnector(), "service", log);
  const host = hostHeader === "public" ? null : hostHeader ?? forward.host;
  return {
    name: `${forward.origin}${forward.pathname === "/" ? "" : forward.pathname}`,
    async forward(capture) {
      const body = streamCaptured(api, viewId, capture);
      try {
        return await deliver({ connect, service: forward, viewId, capture, body, hostHeader: host, signal });
      } catch (error) {
        if (error instanceof NotDelivered) return error;
        throw error;
      }
    },
  };
}

/** What came of a delivery, in lines for people. */
export function describeDelivery(name: string, delivered: Delivered | NotDelivered): string[] {
  if (delivered instanceof NotDelivered) return [printable(delivered.message), ""];
  const { status, statusText, durationMs, size, body, contentType } = delivered;
  const about = [`${status} ${printable(statusText)}`.trim(), formatDuration(durationMs), formatBytes(size)];
  return [`Answer of ${name}: ${about.join(", ")}`, ...formatBody(body, contentType), ""];
}

/** The same as fields of an event. */
export function reportDelivery(captureId: string, service: string, delivered: Delivered | NotDelivered): object {
  if (delivered instanceof NotDelivered) {
    return { event: "delivery_failed", capture: captureId, target: service, reason: delivered.message };
  }
  const { status, durationMs, size, body } = delivered;
  const shown = new TextDecoder().decode(body.bytes);
  return { event: "delivered", capture: captureId, target: service, status, durationMs, size, body: shown };
}
